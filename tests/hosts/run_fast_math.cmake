# Compiles SOURCE with every flag of FLAGS that changes float arithmetic: each is to be refused by an
# #error of the headers; without one of them the source is fine.
cmake_minimum_required(VERSION 3.22)

function(compile flag)
  execute_process(COMMAND ${CXX} -std=c++20 -fsyntax-only -Wfatal-errors ${flag} -I ${INCLUDE} ${SOURCE}
                  RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  set(status ${status} PARENT_SCOPE)
  set(out "${out}" PARENT_SCOPE)
endfunction()

compile(-O2)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} does not compile:\n${out}")
endif()
foreach(flag IN LISTS FLAGS)
  compile(${flag})
  if(status EQUAL 0 OR NOT out MATCHES "#error[^\n]*-ffast-math and its parts change results")
    message(FATAL_ERROR "With ${flag} the headers are not refused:\n${out}")
  endif()
endforeach()
