#include "limpid/nn/activation.h"

#include "limpid/core/error.h"
#include "limpid/ops/activation.h"
#include "limpid/ops/arithmetic.h"

namespace limpid::nn {
namespace {

constexpr double kRootTwo = 1.4142135623730951;

// Gains as PyTorch's calculate_gain has them; GELU and SiLU take ReLU's, which they resemble.
constexpr Activation kActivations[] = {
    {"relu", limpid::relu, kRootTwo},
    {"leaky_relu", [](Value x) { return leaky_relu(x); }, 1.4141428569978354},
    {"gelu", limpid::gelu, kRootTwo},
    {"silu", limpid::silu, kRootTwo},
    {"tanh", limpid::tanh, 5.0 / 3},
    {"sigmoid", limpid::sigmoid, 1},
    {"identity", [](Value x) { return x; }, 1},
};

}  // namespace

const Activation& activation_from_name(std::string_view name) {
  for (const Activation& a : kActivations)
    if (a.name == name) return a;
  throw_missing(name, activation_names());
}

const Activation& activation_of(Value (*apply)(Value)) {
  for (const Activation& a : kActivations)
    if (a.apply == apply) return a;
  throw Error(ErrorCode::kNotFound, "activation: the function is not one of the named ones");
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const Activation& a : kActivations) names.emplace_back(a.name);
  return names;
}

}  // namespace limpid::nn
