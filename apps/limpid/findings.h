// What the doctor found, on a terminal.
#pragma once

#include <string>

#include "limpid/train/events.h"

namespace limpid::tool {

// Several lines: rule and layer, then symptom, cause and what to try.
std::string to_text(const train::Finding& finding);

}  // namespace limpid::tool
