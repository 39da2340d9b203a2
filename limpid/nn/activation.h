// Activations by name, for configurations, the command line and whoever shows or diagnoses a
// network. The functions themselves are ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limpid/function/value.h"

namespace limpid::nn {

// Below this size of its slope an activation counts as saturated: hardly any gradient comes
// through.
inline constexpr double kFlat = 1e-3;

// One activation, and what can be said of it without a network.
struct Activation {
  std::string_view name;
  Value (*apply)(Value x);
  double gain;  // what keeps the variance of a layer's output near its input's, for initialisation
  std::string_view derivative;  // as a formula, of x and of the result y
  double low, high;             // no result lies outside of [low, high]
  double steepest;              // the largest |slope|
  double flat_below;            // |slope| < kFlat everywhere below, -infinity where that never is
  double flat_above;            // and everywhere above, infinity where that never is
};

// Throws kNotFound, naming the activations there are.
const Activation& activation_from_name(std::string_view name);
// Throws kNotFound where the function is none of them.
const Activation& activation_of(Value (*apply)(Value));
std::vector<std::string> activation_names();

}  // namespace limpid::nn
