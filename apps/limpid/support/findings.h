// Findings of the doctor as text for a terminal.
#pragma once

#include <string>

#include "limpid/train/log/events.h"

namespace limpid::tool {

// Several lines: rule and layer, then symptom, cause and remedies.
std::string to_text(const train::Finding& finding);

}  // namespace limpid::tool
