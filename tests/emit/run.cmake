# Writes the cases into WORK, compiles them with CXX and FLAGS and runs them. LAUNCHER, if given, runs the compiler: a
# cache, which knows what was emitted before. RUNNER, if given, runs the program: an emulator.
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${out}")
  endif()
  message(STATUS "${out}")
  set(output "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${WRITE_CASES} ${WORK})
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
# A cache compares flags as they are written; this one says which CPU -march=native means.
run(${CXX} ${flags} -E -dM -x c++ /dev/null)
string(SHA256 cpu "${output}")
# Flags that change results are refused where the compiler tells of them.
set(refused -ffast-math -ffinite-math-only)
if(NOT output MATCHES "__clang__")
  list(APPEND refused -freciprocal-math -fno-signed-zeros)
  if(output MATCHES "__x86_64__")
    list(APPEND refused -mfpmath=387)
  endif()
endif()
foreach(flag IN LISTS refused)
  execute_process(COMMAND ${CXX} -std=c++17 ${flags} ${flag} -E -x c++ ${WORK}/scalar.h OUTPUT_QUIET ERROR_VARIABLE error)
  if(NOT error MATCHES "change results|more than float's precision")
    message(FATAL_ERROR "scalar.h with ${flag}: expected an error, got '${error}'")
  endif()
endforeach()
file(GLOB sources ${WORK}/*.cc)
set(objects "")
foreach(source IN LISTS sources ITEMS ${PROGRAM}/main.cc)
  get_filename_component(name ${source} NAME)
  run(${LAUNCHER} ${CXX} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror ${flags}
      -D LIMPID_CPU=${cpu} -I ${WORK} -I ${PROGRAM} -c ${source} -o ${WORK}/${name}.o)
  list(APPEND objects ${WORK}/${name}.o)
endforeach()
run(${CXX} ${flags} ${objects} -o ${WORK}/cases)
run(${RUNNER} ${WORK}/cases ${WORK}/numbers.bin)
# A CPU whose floating point has one mode only, as a Cortex-M0's in software: its C library defines no FE_TONEAREST.
file(WRITE ${WORK}/no_modes.cpp "#include <cfenv>\n#include <cmath>\n#include <cstddef>\n#include <cstdint>\n#include <cstring>\n"
     "#undef FE_TONEAREST\n#undef __x86_64__\n#undef __aarch64__\n#include \"scalar.h\"\n")
run(${CXX} -std=c++17 -Wall -Wextra -Werror ${flags} -I ${WORK} -fsyntax-only ${WORK}/no_modes.cpp)
