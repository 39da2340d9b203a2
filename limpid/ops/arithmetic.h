// Element-wise arithmetic, comparison and elementary functions. Integers (i32, i64, i8, u8) wrap
// around on overflow. Functions of two Values broadcast them as NumPy does; the ops themselves take
// equal shapes only. All throw kShape if shapes do not broadcast, kDtype for an unsupported dtype.
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

// On integers, f32 and f64; both dtypes must be equal.
Value add(Value a, Value b);
Value subtract(Value a, Value b);
Value multiply(Value a, Value b);
// Integers round toward zero. Division of integers by zero gives 0, with remainder a.
Value divide(Value a, Value b);
// a - b trunc(a / b), with the sign of a, as C's fmod and %: the op `remainder`. numbers.h has
// remainder(), with the sign of b.
Value fmod(Value a, Value b);
Value maximum(Value a, Value b);  // NaN if either is NaN; +0 is greater than -0
Value minimum(Value a, Value b);

// Operators for the functions above.
inline Value operator+(Value a, Value b) { return add(a, b); }
inline Value operator-(Value a, Value b) { return subtract(a, b); }
inline Value operator*(Value a, Value b) { return multiply(a, b); }
inline Value operator/(Value a, Value b) { return divide(a, b); }

// A number as a constant with the dtype and shape of `like`. The operators convert numbers this
// way.
Value number_like(Value like, double number);
inline Value operator+(Value a, double b) { return a + number_like(a, b); }
inline Value operator-(Value a, double b) { return a - number_like(a, b); }
inline Value operator*(Value a, double b) { return a * number_like(a, b); }
inline Value operator/(Value a, double b) { return a / number_like(a, b); }
inline Value operator+(double a, Value b) { return number_like(b, a) + b; }
inline Value operator-(double a, Value b) { return number_like(b, a) - b; }
inline Value operator*(double a, Value b) { return number_like(b, a) * b; }
inline Value operator/(double a, Value b) { return number_like(b, a) / b; }

// Element-wise. docs/arithmetic.md gives error bounds for exp and the functions after it.
Value negate(Value x);
inline Value operator-(Value x) { return negate(x); }
Value abs(Value x);
Value exp(Value x);
Value log(Value x);
Value tanh(Value x);
Value erf(Value x);
Value sigmoid(Value x);  // 1 / (1 + exp(-x))
Value ndtr(Value x);     // standard normal CDF, accurate in the lower tail, too
Value sqrt(Value x);

// Comparisons; the result is bool. With a NaN, only not_equal is true.
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
// The same functions of a Value and a number.
inline Value fmod(Value a, double b) { return fmod(a, number_like(a, b)); }
inline Value maximum(Value a, double b) { return maximum(a, number_like(a, b)); }
inline Value minimum(Value a, double b) { return minimum(a, number_like(a, b)); }
inline Value equal(Value a, double b) { return equal(a, number_like(a, b)); }
inline Value not_equal(Value a, double b) { return not_equal(a, number_like(a, b)); }
inline Value less(Value a, double b) { return less(a, number_like(a, b)); }
inline Value less_equal(Value a, double b) { return less_equal(a, number_like(a, b)); }
Value logical_and(Value a, Value b);
Value logical_or(Value a, Value b);
Value logical_not(Value x);

// a where the condition (bool) is true, else b.
Value select(Value condition, Value a, Value b);

// Converts to another dtype. To floating point: rounds once, to nearest, ties to even; overflow
// gives infinity. Floating point to integer: toward zero, saturating, NaN becomes 0. Integer to
// integer: keeps the low bits. bool becomes 0 or 1; to bool: whether x is not 0.
Value cast(Value x, Dtype dtype);

}  // namespace limpid
