// The library's results, part by part, as bytes, to be compared between programs that differ in the
// settings of their process or thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace limpid::hosts {

// The name of a part, and its bytes or text.
using Parts = std::vector<std::pair<std::string, std::string>>;

// Data sets, and what standardising makes of them.
Parts data();
// First weights by every scheme, Functions written with every optimiser, schedules.
Parts models();
// Numbers read from text and written to it.
Parts numbers();
// Compiled steps, training runs, metrics, generated text.
Parts training();

// All of the above.
Parts everything();

}  // namespace limpid::hosts
