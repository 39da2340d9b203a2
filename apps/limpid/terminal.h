// What the terminal at standard output can do.
#pragma once

#include <cstddef>

namespace limpid::tool {

// Whether a line there can be drawn over itself: a terminal, and TERM is neither empty nor "dumb".
bool can_redraw();

// Columns of the terminal, which may change at any time; 80 if the terminal does not say.
std::size_t terminal_columns();

}  // namespace limpid::tool
