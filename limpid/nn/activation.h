// Activations by name, for configurations and the command line. The functions themselves are ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limpid/function/value.h"

namespace limpid::nn {

struct Activation {
  std::string_view name;
  Value (*apply)(Value x);
  double gain;  // what keeps the variance of a layer's output near its input's, for initialisation
};

// Throws kNotFound, naming the activations there are.
const Activation& activation_from_name(std::string_view name);
// Throws kNotFound where the function is none of them.
const Activation& activation_of(Value (*apply)(Value));
std::vector<std::string> activation_names();

}  // namespace limpid::nn
