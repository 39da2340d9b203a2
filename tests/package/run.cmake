# Configures, builds and runs one of the outside projects in the folder WORK, then looks at the
# flags that it was compiled with.
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

if(WAY STREQUAL find_package)
  # Always of the present headers and library.
  file(REMOVE_RECURSE ${WORK}/prefix)
  run(${CMAKE_COMMAND} --install ${LIMPID_BUILD} --prefix ${WORK}/prefix)
  set(where -D CMAKE_PREFIX_PATH=${WORK}/prefix)
else()
  # With the flags of the main build, so that a compiler cache knows the library already.
  set(where -D LIMPID_SOURCE=${LIMPID_SOURCE} -D LIMPID_WERROR=ON)
endif()

file(REMOVE ${WORK}/build/CMakeCache.txt)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR}/${WAY} -B ${WORK}/build ${where}
    -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_COMPILER=${CXX}
    -D CMAKE_CXX_FLAGS=${CXX_FLAGS} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
    -D CMAKE_EXPORT_COMPILE_COMMANDS=ON)
run(${CMAKE_COMMAND} --build ${WORK}/build --parallel 2)
run(${WORK}/build/outside)
if(NOT output MATCHES "logits f32.512, 10.\nloss 2\\.[0-9]+\n")
  message(FATAL_ERROR "The program printed:\n${output}")
endif()

# The limpid sources of add_subdirectory keep their flags; those of the project have its own.
file(READ ${WORK}/build/compile_commands.json commands)
string(JSON count LENGTH "${commands}")
math(EXPR last "${count} - 1")
set(own 0)
foreach(i RANGE ${last})
  string(JSON file GET "${commands}" ${i} file)
  string(JSON command GET "${commands}" ${i} command)
  if(file MATCHES "^${LIMPID_SOURCE}/limpid/")
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
