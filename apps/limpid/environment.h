// What a run's log says of the machine and the program.
#pragma once

#include <string>
#include <vector>

#include "limpid/train/events.h"

namespace limpid::tool {

train::RunEvent::Environment environment(int threads);

// The arguments of this process, the program's name first.
std::vector<std::string> command_line();

}  // namespace limpid::tool
