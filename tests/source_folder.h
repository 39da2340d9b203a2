// Where the project's sources stand: the fixtures and documents that tests read.
#pragma once

#include <filesystem>

namespace limpid::testing {

// The root of the project, as an absolute path.
std::filesystem::path source_folder();

}  // namespace limpid::testing
