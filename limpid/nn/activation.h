// Activations by name, for configurations, the command line and whoever shows or diagnoses a
// network. The functions and what is known of them stand in limpid/ops/activation.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limpid/ops/activation.h"

namespace limpid::nn {

using limpid::Activation, limpid::kFlat;

// Throws kNotFound, naming the activations there are.
const Activation& activation_from_name(std::string_view name);
// Throws kNotFound where the function is none of them.
const Activation& activation_of(Value (*apply)(Value));
std::vector<std::string> activation_names();

}  // namespace limpid::nn
