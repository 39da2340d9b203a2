// Element-wise functions and norms made of the ops of arithmetic.h: remainders, tests for NaN and
// infinity, the angle of a vector, lengths. docs/arithmetic.md defines their bits. All throw kShape
// if shapes do not broadcast, kDtype for an unsupported dtype.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limpid/function/value.h"

namespace limpid {

// a - b floor(a / b), with the sign of b (NumPy's and PyTorch's remainder, Python's %). Of
// integers, with the divisor 0, a. fmod (arithmetic.h) has the sign of a.
Value remainder(Value a, Value b);
Value remainder(Value a, double b);

// bool. Integers and booleans are finite.
Value isnan(Value x);
Value isinf(Value x);
Value isfinite(Value x);

// The angle of the vector (x, y) to the x axis in [-pi, pi], f32 or f64, with C's values for zeros
// and infinities. The gradient is (x, -y) / (x^2 + y^2), and 0 at the origin.
Value atan2(Value y, Value x);

// x with `value` where the mask, a bool that broadcasts to x, is true (PyTorch's masked_fill). x of
// any dtype that has the value.
Value masked_fill(Value x, Value mask, double value);

// The norm over some axes as over one, or over all: (sum of |x|^order)^(1 / order), for infinity
// the largest |x|, for -infinity the smallest. The gradient of a norm that is 0 is 0. Sums of
// squares that would overflow or underflow are added up in another unit, a power of two. f32 and
// f64. Throws kInvalidArgument unless order > 0 or infinite, kShape for an axis twice.
Value norm(Value x, const std::optional<std::vector<std::int64_t>>& axes = {}, double order = 2,
           bool keepdims = false);

// The elements of these axes as one, the last; the other axes stay in their order.
Value with_axes_last(Value x, const std::vector<std::int64_t>& axes);

}  // namespace limpid
