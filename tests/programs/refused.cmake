# refused.cc must not compile, and for each sentence that it announces there must be a static_assert that says it.
execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${CXX} -std=c++20 -fsyntax-only -I ${INCLUDE} ${SOURCE}
                RESULT_VARIABLE status ERROR_VARIABLE errors)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles")
endif()
file(STRINGS ${SOURCE} announced REGEX "// refused: ")
list(LENGTH announced count)
if(count LESS 8)
  message(FATAL_ERROR "${SOURCE} announces ${count} sentences, expected 8 or more")
endif()
foreach(line IN LISTS announced)
  string(REGEX REPLACE ".*// refused: " "" sentence "${line}")
  string(REGEX REPLACE "([][+.*()^$?|])" "\\\\\\1" pattern "${sentence}")
  # "static assertion failed" in GCC, "static_assert failed" in Clang; they may also quote the source.
  if(NOT errors MATCHES "error: static[ _]assert[^\n]*${pattern}")
    message(FATAL_ERROR "no error of the compiler says \"${sentence}\"; it says:\n${errors}")
  endif()
endforeach()
