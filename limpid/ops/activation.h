// Activation functions, element-wise on f32 and f64 (kDtype for others), and the table of those
// that a configuration can name. They are named compositions, so that a printed Function shows relu
// and not its parts. tanh and sigmoid are primitives: see arithmetic.h.
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
// x where x > 0, else slope * x; the derivative at 0 is the slope (Maas et al. 2013).
Value leaky_relu(Value x, double slope = 0.01);
// leaky_relu with a learned slope: a scalar, or one for each feature, the last dimension of x (He
// et al. 2015, equation 1).
Value prelu(Value x, Value slope);
// x where x > 0, else alpha (e^x - 1); the derivative at 0 is alpha (Clevert et al. 2016, equation
// 15). Throws kInvalidArgument unless alpha > 0.
Value elu(Value x, double alpha = 1);
// 1.0507 elu(x, 1.6733): keeps mean 0 and variance 1 from layer to layer (Klambauer et al. 2017).
Value selu(Value x);

// x Phi(x) = x / 2 (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel 2016).
Value gelu(Value x);
// The tanh approximation of gelu, as in GPT-2: x sigmoid(2 u) = x / 2 (1 + tanh u), u = sqrt(2 /
// pi) (x + 0.044715 x^3).
Value gelu_tanh(Value x);
// x sigmoid(x), also called Swish (Elfwing et al. 2017).
Value silu(Value x);
// x sigmoid(beta x) (Ramachandran, Zoph and Le 2017).
Value swish(Value x, double beta);
// x tanh(softplus(x)) (Misra 2020).
Value mish(Value x);
// log(1 + e^x) without overflow: max(x, 0) + log1p(e^-|x|).
Value softplus(Value x);

// min(max(x, low), high); NaN stays NaN; the derivative is 0 at both bounds and outside them.
// Throws kInvalidArgument unless low <= high.
Value clamp(Value x, double low, double high);
Value relu6(Value x);      // clamp(x, 0, 6)
Value hard_tanh(Value x);  // clamp(x, -1, 1)
// clamp(x + 3, 0, 6) / 6 (Howard et al. 2019, section 5.2).
Value hard_sigmoid(Value x);
// x hard_sigmoid(x).
Value hard_swish(Value x);
// The step function: 1 where x > 0, else 0; NaN stays NaN. Differentiating it throws kNoGradient.
Value step(Value x);

// Gated linear units: an activation of the gate, times the value (Dauphin et al. 2017; Shazeer
// 2020).
Value glu(Value gate, Value value);     // sigmoid(gate) value
Value swiglu(Value gate, Value value);  // silu(gate) value
Value geglu(Value gate, Value value);   // gelu(gate) value
// The same with both in one tensor: the value is the first half of the last axis, the gate the
// second, as in PyTorch's glu. Throws kShape if the last axis cannot be halved.
Value glu(Value value_and_gate);
Value swiglu(Value value_and_gate);
Value geglu(Value value_and_gate);

// An activation is saturated where its |slope| is below this: it passes hardly any gradient.
inline constexpr double kFlat = 1e-3;

// An entry of the table of activations.
struct Activation {
  std::string_view name;
  Value (*apply)(Value x);
  double gain;  // gain for weight initialisation: keeps the variance of activations from layer to
                // layer
  std::string_view derivative;  // formula in x and the result y
  double low, high;             // all results are in [low, high]
  double steepest;              // the largest |slope|
  double flat_below;            // |slope| < kFlat for all x below this; -infinity if there are none
  double flat_above;            // and for all x above this; infinity if there are none
};

// The activations that a configuration can name. limpid/nn/activation.h finds one by name.
std::span<const Activation> activations();

}  // namespace limpid
