# What `cmake --install` leaves for other projects, in three components: `library` is what a program that links the
# shared library needs to run, `headers` what it takes to build one (the static library among it), `tool` the command.
# cmake/packages.cmake makes a Debian package of each, and of the Python package, whose folder says how it is installed.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/limpid)

# limpid_install_library(<target>): with a set of exported targets of its own, which limpidConfig.cmake includes.
function(limpid_install_library target)
  install(TARGETS ${target} EXPORT ${target}_targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT headers
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT headers)
  install(EXPORT ${target}_targets NAMESPACE limpid:: DESTINATION ${package_dir} COMPONENT headers)
endfunction()
limpid_install_library(limpid)
if(TARGET limpid_onnx)
  limpid_install_library(limpid_onnx)
endif()

# What users include: no internals of folders; of the kernels, those headers that the others include; ONNX where that is
# built.
set(no_onnx "")
if(NOT TARGET limpid_onnx)
  set(no_onnx PATTERN onnx EXCLUDE)
endif()
install(DIRECTORY limpid DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers
        FILES_MATCHING PATTERN *.h
        PATTERN detail EXCLUDE
        PATTERN kernels EXCLUDE
        PATTERN serve EXCLUDE
        PATTERN view EXCLUDE
        REGEX "/compile/(lowering|move|nested|pages|plan|worker)\\.h$" EXCLUDE
        REGEX "/ops/(attention_weights|rows|strided)\\.h$" EXCLUDE
        REGEX "/transforms/rewrite\\.h$" EXCLUDE
        ${no_onnx})
install(FILES limpid/kernels/isa.h limpid/kernels/kernels.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/limpid/kernels COMPONENT headers)

if(TARGET limpid_tool)
  install(TARGETS limpid_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
  if(TARGET limpid_serve AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    install(FILES apps/limpid/limpid.service DESTINATION lib/systemd/system COMPONENT tool)
  endif()
  set(manual ${PROJECT_BINARY_DIR}/manual)
  install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
  install(FILES ${manual}/limpid.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME limpid COMPONENT tool)
  install(FILES ${manual}/limpid.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          RENAME _limpid COMPONENT tool)
  install(FILES ${manual}/limpid.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tool)
  if(BUILD_SHARED_LIBS AND NOT CMAKE_INSTALL_PREFIX STREQUAL /usr)
    file(RELATIVE_PATH from_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(limpid_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin_to_lib}")
  endif()
endif()

configure_package_config_file(cmake/limpidConfig.cmake.in ${PROJECT_BINARY_DIR}/limpidConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/limpidConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/limpidConfig.cmake
              ${PROJECT_BINARY_DIR}/limpidConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT headers)

# For pkg-config, which finds the prefix by where the file lies. A static library asks its users for those that it calls.
file(RELATIVE_PATH from_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" from_pc_to_prefix ${from_pc_to_prefix})
set(pc_requires "")
set(pc_libs "")
if(NOT BUILD_SHARED_LIBS)
  set(pc_requires "fmt zlib")
  if(PNG IN_LIST LIMPID_PICTURES)
    string(APPEND pc_requires " libpng")
  endif()
  if(JPEG IN_LIST LIMPID_PICTURES)
    string(APPEND pc_requires " libjpeg")
  endif()
  set(pc_libs -pthread)
endif()
# limpid_install_pc(<name>)
function(limpid_install_pc name)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT headers)
endfunction()
limpid_install_pc(limpid)
if(TARGET limpid_onnx)
  limpid_install_pc(limpid_onnx)
endif()
