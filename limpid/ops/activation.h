// Activations: named compositions, so that a Function shows relu and not its parts. tanh and
// sigmoid are primitives and stand in arithmetic.h.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op relu, leaky_relu, gelu, silu;
}  // namespace op

// max(x, 0); NaN stays NaN; the derivative at 0 is 0.
Value relu(Value x);
// x where x > 0, else slope * x; the derivative at 0 is the slope.
Value leaky_relu(Value x, double slope = 0.01);
// x Phi(x) = x / 2 (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel 2016).
Value gelu(Value x);
// x sigmoid(x), also called Swish (Elfwing et al. 2017).
Value silu(Value x);

}  // namespace limpid
