# What the scripts of this folder share.
cmake_minimum_required(VERSION 3.22)

# run(<command>...): stops where it fails, else leaves what it printed in `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

# expect(<text>): stops unless it matches EXPECTED.
function(expect text)
  if(NOT text MATCHES "${EXPECTED}")
    message(FATAL_ERROR "Printed:\n${text}\nwhich does not match\n${EXPECTED}")
  endif()
endfunction()

# configure(<source> <build> <option>...): with the compiler and the flags of the main build.
function(configure source build)
  file(REMOVE ${build}/CMakeCache.txt)
  set(unity "")
  if(UNITY)
    set(unity -D LIMPID_UNITY_BATCH=${UNITY})
  endif()
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${source} -B ${build}
      -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_FLAGS=${CXX_FLAGS}
      -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_EXPORT_COMPILE_COMMANDS=ON
      ${unity} ${ARGN})
endfunction()
