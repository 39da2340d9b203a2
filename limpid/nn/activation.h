// Activation functions by name, for configurations, the command line, displays and diagnostics. The
// functions and the table of their properties are in limpid/ops/activation.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limpid/ops/activation.h"

namespace limpid::nn {

using limpid::Activation, limpid::kFlat;

// The activation with this name. Throws kNotFound; the message lists the names that exist.
const Activation& activation_from_name(std::string_view name);
// The table entry of a function. Throws kNotFound if it has none.
const Activation& activation_of(Value (*apply)(Value));
// The names in the table.
std::vector<std::string> activation_names();

}  // namespace limpid::nn
