// The names of features and outputs, as stored in a model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "limpid/formats/model.h"

namespace limpid::tool {

// One name for each feature, or empty. Throws kFormat if the stored DataConfig is invalid; so does
// output_names.
std::vector<std::string> feature_names(const Model& model);
// One name for each element of the model's only output (classes or targets), or empty.
std::vector<std::string> output_names(const Model& model);

// "weight = 4.1, colour=grey = 1", for a terminal.
std::string named_numbers(const std::vector<std::string>& names, std::span<const float> numbers);

}  // namespace limpid::tool
