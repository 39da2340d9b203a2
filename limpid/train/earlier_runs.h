// What was tried before a run: the configurations of the runs beside it. Leans on run_folder.h.
#pragma once

#include <filesystem>
#include <vector>

#include "limpid/core/json.h"

namespace limpid::train {

// Of the runs in the folder that holds `run`, those on the same data, whatever its options, whose
// configuration was written before that of `run`. What cannot be read is passed over; nothing where
// `run` is no run folder.
std::vector<Json> earlier_runs(const std::filesystem::path& run);

}  // namespace limpid::train
