# Compiles examples/hello with the flags that pkg-config gives for what was installed in PREFIX.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

file(GLOB_RECURSE pc ${PREFIX}/limpid.pc)
get_filename_component(folder ${pc} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
run(pkg-config --cflags --libs limpid)
separate_arguments(flags UNIX_COMMAND "${CXX_FLAGS} ${output}")
file(MAKE_DIRECTORY ${WORK})
run(${CXX} -std=c++20 ${LIMPID_SOURCE}/examples/hello/main.cc ${flags} -o ${WORK}/hello)
run(${WORK}/hello)
expect("${output}")
