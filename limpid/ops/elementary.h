// Elementary functions beside those of arithmetic.h: powers, logarithms near 1, the circular
// functions, and rounding to whole numbers.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op log1p, expm1, sin, cos, rsqrt, power;
extern const Op floor, ceil, round, truncate, sign;
}  // namespace op

// Element by element; docs/arithmetic.md bounds the errors.
Value log1p(Value x);  // log(1 + x), accurate for small x
Value expm1(Value x);  // e^x - 1, accurate for small x
Value sin(Value x);
Value cos(Value x);
Value rsqrt(Value x);  // 1 / sqrt(x)

// x to the power of y, with the special values of C's pow; operands are stretched to a common
// shape. The derivative by y counts as 0 where x is 0 or less.
Value power(Value x, Value y);
Value power(Value x, double y);

// To whole numbers: down, up, to the nearest, toward zero.
Value floor(Value x);
Value ceil(Value x);
Value round(Value x);  // ties to even
Value truncate(Value x);
Value sign(Value x);  // -1, 1, or x where that is a zero or NaN

}  // namespace limpid
