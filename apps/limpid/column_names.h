// What the numbers of an example and of an output are called, as far as the model remembers it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "limpid/formats/model.h"

namespace limpid::tool {

// One name for each number of an example, or none. Throws kFormat where what the model remembers of
// its data is broken; so does the next.
std::vector<std::string> feature_names(const Model& model);
// One name for each number of the model's only output (classes or targets), or none.
std::vector<std::string> output_names(const Model& model);

// "weight = 4.1, colour=grey = 1", for a terminal.
std::string named_numbers(const std::vector<std::string>& names, std::span<const float> numbers);

}  // namespace limpid::tool
