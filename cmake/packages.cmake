# `cpack` in a build of the preset `package` makes the Debian packages: the shared library, what it takes to build with it, the
# tool, and, where they are built, the modules for MPI and the Python package.
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

# A program that is started as one of several loads the module of its launcher's MPI.
foreach(mpi IN ITEMS "openmpi;Open MPI" "mpich;MPICH")
  list(GET mpi 0 kind)
  list(GET mpi 1 title)
  if(NOT TARGET limpid_mpi_${kind})
    continue()
  endif()
  list(APPEND CPACK_COMPONENTS_ALL ${kind})
  string(TOUPPER ${kind} component)
  set(CPACK_COMPONENT_${component}_DEPENDS library)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME limpid-${kind})
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_${component}_DESCRIPTION "neural networks as pure functions: training under ${title}
 Lets the processes that ${title}'s mpirun or srun has started train one network together, with the bits of one process.")
endforeach()
set(CPACK_DEBIAN_OPENMPI_PACKAGE_RECOMMENDS "limpid, openmpi-bin")
set(CPACK_DEBIAN_MPICH_PACKAGE_RECOMMENDS "limpid, mpich")
set(CPACK_DEBIAN_TOOL_PACKAGE_SUGGESTS "limpid-openmpi | limpid-mpich")

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
