# Groups of tests that are built again, under a sanitizer or for another architecture. The target <group>_programs builds the
# programs of the named folders of tests/ and nothing else; groups/<group> of the build is a folder for ctest with their tests.
function(limpid_test_group group)
  add_custom_target(${group}_programs)
  set(tests "")
  foreach(folder IN LISTS ARGN)
    set(source ${PROJECT_SOURCE_DIR}/tests/${folder})
    if(EXISTS ${source}/CMakeLists.txt)
      get_property(targets DIRECTORY ${source} PROPERTY BUILDSYSTEM_TARGETS)
      if(targets)
        add_dependencies(${group}_programs ${targets})
      endif()
      string(APPEND tests "subdirs(\"${PROJECT_BINARY_DIR}/tests/${folder}\")\n")
    endif()
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/groups/${group}/CTestTestfile.cmake "${tests}")
endfunction()

# They read bytes and text that anybody may have written; the fuzzers write them. `./dev test` builds and runs these.
limpid_test_group(readers sanitized fuzz)
foreach(program IN ITEMS core_test formats_test function_test data_test onnx_test serve_test)
  if(TARGET ${program})
    add_dependencies(readers_programs ${program})
  endif()
endforeach()
# The tool, which reads such files too. It is built with the readers: whole folders together, as `./dev demo` has them.
limpid_test_group(hostile cli)
if(TARGET limpid_tool)
  add_dependencies(readers_programs limpid_tool)
  add_dependencies(hostile_programs limpid_tool)
endif()
# They run on several threads.
limpid_test_group(threads compile)
# The promise of the same bits, where an emulator runs it.
limpid_test_group(bits emulated)
if(CMAKE_CROSSCOMPILING)
  add_dependencies(bits_programs laws_test kernels_test compile_test trainer_test)
endif()
