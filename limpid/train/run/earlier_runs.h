// The earlier runs in the same folder. Depends on run_folder.h.
#pragma once

#include <filesystem>
#include <vector>

#include "limpid/train/diagnostics/doctor.h"

namespace limpid::train {

// The runs beside `run` that use the same data (with any options) and were
// written before that of `run`. Unreadable runs are ignored; empty if `run` is not a run folder.
std::vector<EarlierRun> earlier_runs(const std::filesystem::path& run);

}  // namespace limpid::train
