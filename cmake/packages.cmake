# `cpack` in a build of the preset `package` makes four Debian packages: the shared library, what it takes to build with
# it, the tool, and the Python package where that is built.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME limpid)
set(CPACK_PACKAGE_CONTACT "The authors of Limpid")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library headers tool)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_HEADERS_DEPENDS library)
set(CPACK_COMPONENT_TOOL_DEPENDS library)
# What a program that links the library then depends on, and from which package the tool has it.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/library_onnx)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME liblimpid${LIMPID_SOVERSION})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "neural networks as pure functions: shared library
 Runs, trains and inspects neural networks, with the same bits on every machine.")

set(CPACK_DEBIAN_HEADERS_PACKAGE_NAME liblimpid-dev)
set(CPACK_DEBIAN_HEADERS_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_HEADERS_DESCRIPTION "neural networks as pure functions: headers
 What it takes to build programs with liblimpid: C++20 headers, and files for CMake and pkg-config.")

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME limpid)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_TOOL_DESCRIPTION "neural networks as pure functions: command line tool
 Trains, runs, explains, converts and serves neural networks. The service limpid, which answers
 over HTTP with the models in /var/lib/limpid, is not started unless it is enabled.")

if(TARGET limpid_python_info)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_COMPONENT_PYTHON_DEPENDS library)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-limpid)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  # The module is for this version of Python; of NumPy any version will do.
  execute_process(COMMAND ${LIMPID_PYTHON_PROGRAM} -c
    "import sys; a, b = sys.version_info[:2]; print(f'python3 (>= {a}.{b}), python3 (<< {a}.{b + 1})', end='')"
    OUTPUT_VARIABLE python_versions)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${python_versions}, python3-numpy (>= 1:1.22)")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
      ${PROJECT_SOURCE_DIR}/cmake/python3/postinst ${PROJECT_SOURCE_DIR}/cmake/python3/prerm)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "neural networks as pure functions: Python 3 package
 NumPy in, arrays out: the functions, files and bits of liblimpid in Python.")
endif()
include(CPack)
