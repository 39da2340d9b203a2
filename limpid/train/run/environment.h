// The environment of a run, for its log. Depends on events.h.
#pragma once

#include <string>
#include <vector>

#include "limpid/train/log/events.h"

namespace limpid::train {

// This machine, and the compiler that built the library.
RunEvent::Environment environment(int threads);

// The arguments of this process, the program's name first.
std::vector<std::string> command_line();

// The library's version, "0.2.0".
std::string library_version();

}  // namespace limpid::train
