// Capabilities of the terminal at standard output.
#pragma once

#include <cstddef>

namespace limpid::tool {

// Whether a line can be redrawn: standard output is a terminal, and TERM is neither empty nor
// "dumb".
bool can_redraw();

// Columns of the terminal, which may change at any time; 80 if unknown.
std::size_t terminal_columns();

}  // namespace limpid::tool
