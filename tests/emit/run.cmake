# Writes the cases into WORK, compiles them with CXX and FLAGS and runs them. RUNNER, if given, runs the program: an
# emulator.
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${out}")
  endif()
  message(STATUS "${out}")
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${WRITE_CASES} ${WORK})
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
file(GLOB sources ${WORK}/*.cc)
run(${CXX} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror ${flags}
    -I ${WORK} -I ${PROGRAM} ${sources} ${PROGRAM}/main.cc -o ${WORK}/cases)
run(${RUNNER} ${WORK}/cases ${WORK}/numbers.bin)
