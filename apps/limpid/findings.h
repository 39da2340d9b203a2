// What the doctor found, on a terminal, and where a run's log is.
#pragma once

#include <filesystem>
#include <string>

#include "limpid/train/events.h"

namespace limpid::tool {

// Several lines: rule and layer, then symptom, cause and what to try.
std::string to_text(const train::Finding& finding);

// The log of a run given as its folder, or as the log itself.
std::filesystem::path log_path(const std::string& run);

}  // namespace limpid::tool
