// The configurations of earlier runs in the same folder. Depends on run_folder.h.
#pragma once

#include <filesystem>
#include <vector>

#include "limpid/core/json.h"

namespace limpid::train {

// The configurations of the runs beside `run` that use the same data (with any options) and were
// written before that of `run`. Unreadable runs are ignored; empty if `run` is not a run folder.
std::vector<Json> earlier_runs(const std::filesystem::path& run);

}  // namespace limpid::train
