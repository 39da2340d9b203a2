// Trigonometric and hyperbolic functions and their inverses; sin and cos are in elementary.h, tanh
// in arithmetic.h. Angles are in radians.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op tan, asin, acos, atan;
extern const Op sinh, cosh, asinh, acosh, atanh;
}  // namespace op

// Element-wise, f32 and f64. docs/arithmetic.md gives error bounds.
Value tan(Value x);
Value asin(Value x);  // in [-pi/2, pi/2]; NaN outside of [-1, 1]
Value acos(Value x);  // in [0, pi]; NaN outside of [-1, 1]
Value atan(Value x);  // in [-pi/2, pi/2]
Value sinh(Value x);
Value cosh(Value x);
Value asinh(Value x);
Value acosh(Value x);  // NaN below 1
Value atanh(Value x);  // NaN outside of [-1, 1]

}  // namespace limpid
