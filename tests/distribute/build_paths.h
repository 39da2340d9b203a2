// What the tests of distribute know of the build.
#pragma once

namespace limpid::testing {

extern const char* const kFakeMpi;             // fake_mpi.cc
extern const char* const kNewerFakeMpi;        // the same, of another version
extern const char* const kModulesFromProgram;  // the relative path in an installation

}  // namespace limpid::testing
