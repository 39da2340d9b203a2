#include "tests/distribute/build_paths.h"

namespace limpid::testing {

const char* const kFakeMpi = FAKE_MPI_PATH;
const char* const kNewerFakeMpi = NEWER_FAKE_MPI_PATH;
const char* const kModulesFromProgram = LIMPID_MODULES_FROM_PROGRAM;

}  // namespace limpid::testing
