// Writes a Program as C++.
#pragma once

#include <string>

#include "limpid/emit/detail/program.h"

namespace limpid::emit {

// The constants that the steps read, as arrays.
std::string constants_text(const Program& program);
// The steps, after the declarations of the workspace buffers; the workspace begins at `memory`.
std::string steps_text(const Program& program);

}  // namespace limpid::emit
