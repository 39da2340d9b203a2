# Flags of our own sources; none of them reaches a project that links limpid.
function(limpid_target_options target)
  # No contraction and no reassociation: docs/arithmetic.md, "The compiler".
  target_compile_options(${target} PRIVATE -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow
                         -Wconversion -Wno-sign-conversion)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 sees overlaps and sizes inside std::string that are not there (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-stringop-overflow)
    # At -O1 it sees parts of a std::variant that nobody reads.
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Release>>:-Wno-maybe-uninitialized>)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # A reference into what a temporary refers to, such as a JsonView's document, is taken for one to the temporary. Later versions see
    # other bounds inside std::string that are not there, and parts of a std::optional that nobody reads.
    target_compile_options(${target} PRIVATE -Wno-dangling-reference -Wno-array-bounds -Wno-stringop-overread -Wno-maybe-uninitialized)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 17)
    # GCC 12's std::stable_sort calls a function that the same library calls deprecated.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
  if(LIMPID_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# For sources that decide, read and print: they take no part of a run's time, and compile a fifth faster.
set(LIMPID_FAST_TO_COMPILE $<$<CONFIG:Release>:-O1>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND LIMPID_FAST_TO_COMPILE -Wno-maybe-uninitialized)
  else()
    # Later versions read no header that was precompiled at another level.
    set(LIMPID_FAST_TO_COMPILE "")
  endif()
endif()

# limpid_unity_build(<target> <group> <source>... [OPTIONS <option>...]): the compiler takes LIMPID_UNITY_BATCH of these sources
# together, so that it reads the headers once for all of them: eight where sources change, whole folders where a build is made once
# and thrown away. A source that shares a name of an unnamed namespace with another is compiled alone. All of them have the options.
set(LIMPID_ALONE
  tests/compile/count_allocations.cc tests/serve/failing_memory.cc)
function(limpid_unity_build target group)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "OPTIONS")
  if(NOT LIMPID_UNITY_BATCH)
    set_property(SOURCE ${arg_UNPARSED_ARGUMENTS} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${arg_OPTIONS})
    return()
  endif()
  set(names "")
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(NORMAL_PATH name)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${source} NORMALIZE generated)
    get_property(options SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY COMPILE_OPTIONS)
    get_property(definitions SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY COMPILE_DEFINITIONS)
    if(NOT generated AND NOT options AND NOT definitions AND NOT name IN_LIST LIMPID_ALONE)
      list(APPEND names ${name})
    elseif(NOT generated)
      set_property(SOURCE ${source} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${arg_OPTIONS})
    endif()
  endforeach()
  # Not CMake's UNITY_BUILD: its sources say where the project stands, and a compiler cache then knows nothing of another clone's.
  set(number 0)
  while(names)
    list(SUBLIST names 0 ${LIMPID_UNITY_BATCH} batch)
    list(REMOVE_ITEM names ${batch})
    list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
    string(JOIN "" text ${includes})
    set(together ${CMAKE_CURRENT_BINARY_DIR}/together/${target}_${group}_${number}.cc)
    file(CONFIGURE OUTPUT ${together} CONTENT "${text}" @ONLY)
    list(TRANSFORM batch PREPEND ${PROJECT_SOURCE_DIR}/)
    set_source_files_properties(${batch} TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
    target_sources(${target} PRIVATE ${together})
    # GCC takes the sources for headers, whose types in unnamed namespaces would be others in every source.
    set_source_files_properties(${together} TARGET_DIRECTORY ${target} PROPERTIES
                                COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>;${arg_OPTIONS}")
    math(EXPR number "${number} + 1")
  endwhile()
endfunction()

# limpid_precompile(<target>): headers of the standard library and of fmt cost a second a source; GCC reads them once, compiled.
# (Another compiler's builds have few sources, each large.) Every source includes what it needs all the same: `./dev lint` sees none of this.
function(limpid_precompile target)
  if(LIMPID_UNITY_BATCH AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <numeric> <optional>
      <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
  endif()
endfunction()

# What a library needs besides, static or shared (BUILD_SHARED_LIBS): the same compile commands for both, so that the
# static one may go into a plug-in, which is a shared object, and a compiler cache knows the one from the other.
function(limpid_library_options target)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    DEFINE_SYMBOL ""
    VERSION ${LIMPID_SOVERSION}
    SOVERSION ${LIMPID_SOVERSION})
  # Time goes into the kernels, which have -O3. At -O2 the rest takes a quarter less time to compile (five
  # sources: 15.4 s at -O3, 11.8 s).
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # As clang has it: nobody replaces one function of the library by another of the same name.
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL SHARED_LIBRARY)
    set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
    target_link_options(${target} PRIVATE -Wl,--version-script=${exports} -Wl,--no-undefined)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${exports})
  endif()
endfunction()

if(LIMPID_IS_TOP)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
endif()
