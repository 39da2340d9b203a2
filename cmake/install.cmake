# What `cmake --install` leaves for other projects: the static library, its public headers, the
# package for find_package(limpid), and the tool where it is built.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/limpid)
install(TARGETS limpid EXPORT limpid_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Of the kernels, those headers that the others include.
install(DIRECTORY limpid DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.h
        PATTERN detail EXCLUDE
        PATTERN kernels EXCLUDE)
install(FILES limpid/kernels/isa.h limpid/kernels/kernels.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/limpid/kernels)
if(TARGET limpid_tool)
  install(TARGETS limpid_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(EXPORT limpid_targets NAMESPACE limpid:: DESTINATION ${package_dir})
configure_package_config_file(cmake/limpidConfig.cmake.in ${PROJECT_BINARY_DIR}/limpidConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/limpidConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/limpidConfig.cmake
              ${PROJECT_BINARY_DIR}/limpidConfigVersion.cmake
        DESTINATION ${package_dir})
