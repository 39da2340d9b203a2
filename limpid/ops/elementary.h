// More elementary functions (see also arithmetic.h): powers, log1p and expm1, sin and cos, and
// rounding to integers.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op log1p, expm1, sin, cos, rsqrt, power;
extern const Op floor, ceil, round, truncate, sign;
}  // namespace op

// Element-wise, f32 and f64. docs/arithmetic.md gives error bounds.
Value log1p(Value x);  // log(1 + x), accurate for small x
Value expm1(Value x);  // e^x - 1, accurate for small x
Value sin(Value x);
Value cos(Value x);
Value rsqrt(Value x);  // 1 / sqrt(x)

// x to the power of y, with the special values of C's pow; operands broadcast. The derivative with
// respect to y is taken as 0 where x <= 0.
Value power(Value x, Value y);
Value power(Value x, double y);

// Round to integers: down, up, to nearest, toward zero.
Value floor(Value x);
Value ceil(Value x);
Value round(Value x);  // ties to even
Value truncate(Value x);
Value sign(Value x);  // -1 or 1; zeros and NaN stay

}  // namespace limpid
