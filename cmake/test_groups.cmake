# Groups of tests that are built again under a sanitizer. The target check_<group> builds the
# programs of the named folders of tests/ and runs their tests, and builds nothing else.
function(limpid_test_group group)
  set(programs "")
  set(runs "")
  foreach(folder IN LISTS ARGN)
    if(EXISTS ${PROJECT_SOURCE_DIR}/tests/${folder}/CMakeLists.txt)
      get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/tests/${folder}
                   PROPERTY BUILDSYSTEM_TARGETS)
      list(APPEND programs ${targets})
      # Out of memory is an Error, and tested: the sanitizer's allocator must say so, not abort.
      list(APPEND runs COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=allocator_may_return_null=1
                               ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error
                               --test-dir ${PROJECT_BINARY_DIR}/tests/${folder})
    endif()
  endforeach()
  add_custom_target(check_${group} ${runs} USES_TERMINAL VERBATIM)
  if(programs)
    add_dependencies(check_${group} ${programs})
  endif()
endfunction()

# They read bytes and text that anybody may have written; the fuzzers write them.
limpid_test_group(hostile formats function fuzz cli)
if(TARGET limpid_tool)
  add_dependencies(check_hostile limpid_tool)
endif()
# They run on several threads.
limpid_test_group(threads compile)

# The promise of the same bits, for builds that an emulator runs (preset aarch64): each program as one process, since
# to start the emulator takes longer than most tests.
function(limpid_check_bits program)
  add_custom_target(check_bits_${program} COMMAND ${program} --gtest_brief=1 ${ARGN} VERBATIM)
  add_dependencies(check_bits check_bits_${program})
endfunction()
add_custom_target(check_bits)
# The longest ones compare what this machine computes with itself.
limpid_check_bits(laws_test --gtest_filter=-RandomFunctions.*:Collapse.*)
limpid_check_bits(kernels_test)
limpid_check_bits(compile_test --gtest_filter=FloatMode.*:*Bands*)
