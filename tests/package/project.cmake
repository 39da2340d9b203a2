# Configures and builds the outside project PROJECT and runs its PROGRAM, which is to print what EXPECTED matches; then looks
# at the flags that it was compiled with.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

configure(${PROJECT} ${BUILD} -D CMAKE_PREFIX_PATH=${PREFIX} -D LIMPID_SOURCE=${LIMPID_SOURCE}
          -D LIMPID_OBJECTS=${LIMPID_OBJECTS} -D LIMPID_WERROR=ON)
run(${CMAKE_COMMAND} --build ${BUILD} --parallel 2)
file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_COMMAND} -E chdir ${WORK} ${BUILD}/${PROGRAM})
expect("${output}")

# The sources of limpid in a subfolder keep its flags; those of the project have its own.
file(READ ${BUILD}/compile_commands.json commands)
string(JSON count LENGTH "${commands}")
math(EXPR last "${count} - 1")
set(of_limpid "^${LIMPID_SOURCE}/limpid/")
if(LIMPID_OBJECTS)  # with what its build writes
  set(of_limpid "^(${LIMPID_SOURCE}/limpid|${LIMPID_OBJECTS})/")
endif()
set(own 0)
foreach(i RANGE ${last})
  string(JSON file GET "${commands}" ${i} file)
  string(JSON command GET "${commands}" ${i} command)
  if(file MATCHES "${of_limpid}")
    continue()
  endif()
  math(EXPR own "${own} + 1")
  if(command MATCHES "-ffp-contract|-Werror|-W[a-z]|-march|-mavx|-fno-")
    if(NOT CXX_FLAGS MATCHES "-fno-")
      message(FATAL_ERROR "${CMAKE_MATCH_0} of limpid reached ${file}:\n${command}")
    endif()
  endif()
endforeach()
if(own EQUAL 0)
  message(FATAL_ERROR "No source of the outside project was compiled.")
endif()
