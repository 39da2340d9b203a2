# limpid_not_proved(<name> <what is missing>): in the place of tests that this machine cannot run, a test that is skipped and says why.
# `./dev test` lists what was skipped; LIMPID_REQUIRE (see tests/not_proved.py) makes failures of it.
function(limpid_not_proved name missing)
  add_test(NAME not_proved.${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${missing}")
  set_tests_properties(not_proved.${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()
