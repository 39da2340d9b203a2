#include "limpid/nn/activation.h"

#include <limits>

#include "limpid/core/error.h"
#include "limpid/ops/activation.h"
#include "limpid/ops/arithmetic.h"

namespace limpid::nn {
namespace {

constexpr double kRootTwo = 1.4142135623730951;
constexpr double kNever = std::numeric_limits<double>::infinity();

Value leaky(Value x) { return leaky_relu(x); }
Value unit_elu(Value x) { return elu(x); }
Value identity(Value x) { return x; }

// Gains: those that PyTorch's calculate_gain has are its; the others are 1 / sqrt(E f(z)^2), z
// standard normal, which for ReLU is He's sqrt 2.
constexpr Activation kActivations[] = {
    {"relu", limpid::relu, kRootTwo, "1 where x > 0, else 0", 0, kNever, 1, 0, kNever},
    {"leaky_relu", leaky, 1.4141428569978354, "1 where x > 0, else 0.01", -kNever, kNever, 1,
     -kNever, kNever},
    {"elu", unit_elu, 1.2451983007, "1 where x > 0, else y + 1", -1, kNever, 1, -6.9077553, kNever},
    {"selu", limpid::selu, 0.75, "1.0507 where x > 0, else y + 1.7581", -1.7580993409, kNever,
     1.7580993409, -7.4719886, kNever},
    {"gelu", limpid::gelu, 1.5335304412, "Phi(x) + x phi(x)", -0.1699712075, kNever, 1.1289041452,
     -3.8103714, kNever},
    {"gelu_tanh", limpid::gelu_tanh, 1.5335805217, "s + x s (1 - s) (2 u)', s = sigmoid(2 u)",
     -0.1700407506, kNever, 1.1289930686, -3.7373492, kNever},
    {"silu", limpid::silu, 1.6765324704, "s + x s (1 - s), s = sigmoid(x)", -0.2784645428, kNever,
     1.0998393202, -8.9850616, kNever},
    {"mish", limpid::mish, 1.4868475813, "t + x (1 - t^2) sigmoid(x), t = tanh(softplus(x))",
     -0.3088434131, kNever, 1.0884981612, -8.9852137, kNever},
    {"softplus", limpid::softplus, 1.0418668356, "sigmoid(x)", 0, kNever, 1, -6.9067548, kNever},
    {"hard_swish", limpid::hard_swish, 1.7366572128,
     "0 where x < -3, x / 3 + 1/2 up to 3, 1 beyond", -0.375, kNever, 1.5, -3, kNever},
    {"tanh", limpid::tanh, 5.0 / 3, "1 - y^2", -1, 1, 1, -4.1467747, 4.1467747},
    {"sigmoid", limpid::sigmoid, 1, "y (1 - y)", 0, 1, 0.25, -6.9057523, 6.9057523},
    {"hard_tanh", limpid::hard_tanh, 1.3920361405, "1 where -1 < x < 1, else 0", -1, 1, 1, -1, 1},
    {"hard_sigmoid", limpid::hard_sigmoid, 1.8978404248, "1/6 where -3 < x < 3, else 0", 0, 1,
     1.0 / 6, -3, 3},
    {"relu6", limpid::relu6, 1.4142135651, "1 where 0 < x < 6, else 0", 0, 6, 1, 0, 6},
    {"step", limpid::step, kRootTwo, "none: 0 wherever it exists", 0, 1, 0, kNever, -kNever},
    {"identity", identity, 1, "1", -kNever, kNever, 1, -kNever, kNever},
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
