// Activations: named compositions, so that a Function shows relu and not its parts, and a table of
// all that a network may name. tanh and sigmoid are primitives and stand in arithmetic.h.
#pragma once

#include <span>
#include <string_view>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op relu, leaky_relu, prelu, elu, selu;
extern const Op gelu, gelu_gradient, gelu_tanh, silu, swish, mish, softplus;
extern const Op clamp, hard_sigmoid, hard_swish, step;
extern const Op glu, swiglu, geglu;
}  // namespace op

// max(x, 0); NaN stays NaN; the derivative at 0 is 0.
Value relu(Value x);
// x where x > 0, else slope * x; the derivative at 0 is the slope.
Value leaky_relu(Value x, double slope = 0.01);
// The same with a learned slope: a scalar, or one for each feature (x's last dimension).
Value prelu(Value x, Value slope);
// x where x > 0, else alpha (e^x - 1); the derivative at 0 is alpha. Throws kInvalidArgument unless
// alpha > 0.
Value elu(Value x, double alpha = 1);
// 1.0507 elu(x, 1.6733): keeps mean 0 and variance 1 from layer to layer.
Value selu(Value x);

// x Phi(x) = x / 2 (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel 2016).
Value gelu(Value x);
// GPT-2's form of it: x sigmoid(2 u) = x / 2 (1 + tanh u), u = sqrt(2 / pi) (x + 0.044715 x^3).
Value gelu_tanh(Value x);
// x sigmoid(x), also called Swish (Elfwing et al. 2017).
Value silu(Value x);
// x sigmoid(beta x).
Value swish(Value x, double beta);
// x tanh(softplus(x)).
Value mish(Value x);
// log(1 + e^x) without overflow: max(x, 0) + log1p(e^-|x|).
Value softplus(Value x);

// min(max(x, low), high); NaN stays NaN; the derivative is 0 at both ends and beyond. Throws
// kInvalidArgument unless low <= high.
Value clamp(Value x, double low, double high);
Value relu6(Value x);      // clamp(x, 0, 6)
Value hard_tanh(Value x);  // clamp(x, -1, 1)
// clamp(x + 3, 0, 6) / 6.
Value hard_sigmoid(Value x);
// x hard_sigmoid(x).
Value hard_swish(Value x);
// 1 where x > 0, else 0; NaN stays NaN. No derivative.
Value step(Value x);

// Gated linear units: an activation of the gate, times the value (Dauphin et al. 2017; Shazeer
// 2020).
Value glu(Value gate, Value value);     // sigmoid(gate) value
Value swiglu(Value gate, Value value);  // silu(gate) value
Value geglu(Value gate, Value value);   // gelu(gate) value
// The same of both in one: the value in the first half of the last axis, the gate in the second, as
// PyTorch's glu has them. Throws kShape where there are no halves.
Value glu(Value value_and_gate);
Value swiglu(Value value_and_gate);
Value geglu(Value value_and_gate);

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

// Those that configurations name; limpid/nn/activation.h finds one.
std::span<const Activation> activations();

}  // namespace limpid
