// The files that a command writes. Depends on data/load_data.h.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/data/load_data.h"

namespace limpid::tool {

// The files and folders that a data set is read from; none for generated data.
std::vector<std::filesystem::path> files_of(const DataSpec& spec);

// Throws UsageError if `out` is one of the files that a command reads, or is in a folder that it
// reads, or is a file of the run whose model it reads.
void refuse_input_as_output(std::string_view option, const std::filesystem::path& out,
                            const std::vector<std::filesystem::path>& inputs);

}  // namespace limpid::tool
