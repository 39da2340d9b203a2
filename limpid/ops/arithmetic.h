// Arithmetic, comparison and elementary functions, element by element. Integers (i32, i64, u8) wrap
// around. Functions of two values stretch their operands to a common shape first, as NumPy does;
// the ops themselves take equal shapes only.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op add, subtract, multiply, divide, remainder, maximum, minimum;
extern const Op negate, abs, exp, log, tanh, erf, sigmoid, ndtr, sqrt;
extern const Op equal, not_equal, less, less_equal;
extern const Op logical_and, logical_or, logical_not;
extern const Op select, cast;
}  // namespace op

// Of integers and floating numbers; the dtypes must be equal.
Value add(Value a, Value b);
Value subtract(Value a, Value b);
Value multiply(Value a, Value b);
// Integers: toward zero; a by zero is 0, with a remainder of a.
Value divide(Value a, Value b);
// With the sign of a, as C's fmod and %.
Value remainder(Value a, Value b);
Value maximum(Value a, Value b);  // NaN where either is; +0 above -0
Value minimum(Value a, Value b);

// The same as operators.
inline Value operator+(Value a, Value b) { return add(a, b); }
inline Value operator-(Value a, Value b) { return subtract(a, b); }
inline Value operator*(Value a, Value b) { return multiply(a, b); }
inline Value operator/(Value a, Value b) { return divide(a, b); }

// A number beside a Value becomes a constant of its dtype and shape.
Value number_like(Value like, double number);
inline Value operator+(Value a, double b) { return a + number_like(a, b); }
inline Value operator-(Value a, double b) { return a - number_like(a, b); }
inline Value operator*(Value a, double b) { return a * number_like(a, b); }
inline Value operator/(Value a, double b) { return a / number_like(a, b); }
inline Value operator+(double a, Value b) { return number_like(b, a) + b; }
inline Value operator-(double a, Value b) { return number_like(b, a) - b; }
inline Value operator*(double a, Value b) { return number_like(b, a) * b; }
inline Value operator/(double a, Value b) { return number_like(b, a) / b; }

// Element by element; docs/arithmetic.md bounds the errors of exp and those behind it.
Value negate(Value x);
inline Value operator-(Value x) { return negate(x); }
Value abs(Value x);
Value exp(Value x);
Value log(Value x);
Value tanh(Value x);
Value erf(Value x);
Value sigmoid(Value x);  // 1 / (1 + exp(-x))
Value ndtr(Value x);     // the standard normal distribution up to x, accurate in its tail too
Value sqrt(Value x);

// bool results. A NaN is equal to nothing, and neither less nor more than anything.
Value equal(Value a, Value b);
Value not_equal(Value a, Value b);
Value less(Value a, Value b);
Value less_equal(Value a, Value b);
inline Comparison operator==(Value a, Value b) { return equal(a, b); }
inline Comparison operator!=(Value a, Value b) { return not_equal(a, b); }
inline Comparison operator<(Value a, Value b) { return less(a, b); }
inline Comparison operator<=(Value a, Value b) { return less_equal(a, b); }
inline Comparison operator>(Value a, Value b) { return less(b, a); }
inline Comparison operator>=(Value a, Value b) { return less_equal(b, a); }
// A number beside a Value becomes a constant here, too.
inline Value remainder(Value a, double b) { return remainder(a, number_like(a, b)); }
inline Value maximum(Value a, double b) { return maximum(a, number_like(a, b)); }
inline Value minimum(Value a, double b) { return minimum(a, number_like(a, b)); }
inline Value equal(Value a, double b) { return equal(a, number_like(a, b)); }
inline Value not_equal(Value a, double b) { return not_equal(a, number_like(a, b)); }
inline Value less(Value a, double b) { return less(a, number_like(a, b)); }
inline Value less_equal(Value a, double b) { return less_equal(a, number_like(a, b)); }
Value logical_and(Value a, Value b);
Value logical_or(Value a, Value b);
Value logical_not(Value x);

// a where the condition (bool) holds, else b.
Value select(Value condition, Value a, Value b);

// To another dtype. To a floating one: rounded to nearest once, ties to even; too large is
// infinite. From a floating one to an integer: toward zero, saturating, NaN to 0. Between integers:
// the low bits. bool is 0 or 1; to bool: whether it is not 0.
Value cast(Value x, Dtype dtype);

}  // namespace limpid
