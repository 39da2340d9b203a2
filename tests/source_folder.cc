#include "tests/source_folder.h"

namespace limpid::testing {

std::filesystem::path source_folder() { return LIMPID_SOURCE; }

}  // namespace limpid::testing
