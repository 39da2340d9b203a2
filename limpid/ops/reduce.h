// Reductions over one axis, which is removed: sum, prod, max, min, argmax. Reduce several axes one
// after the other. All throw kShape for an axis out of range, kDtype.
// Sums, products and means of bf16 and f16 are accumulated in f32 and rounded once. Sums and
// products of integers and of bool are i64.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op sum, prod, max, min, argmax;
}  // namespace op

// Over one axis; -1 is the last. An empty sum is 0, an empty max the lowest number (-infinity), an
// empty min the highest number. Beyond i64, sums wrap around.
Value sum(Value x, std::int64_t axis);
// The product; an empty one is 1. The two halves of the axis are multiplied element by element
// until one element is left.
Value prod(Value x, std::int64_t axis);
Value max(Value x, std::int64_t axis);
Value min(Value x, std::int64_t axis);
// The index of the first largest element, or of the first NaN, as i32; argmin: of the first
// smallest. Throws kShape for an empty axis.
Value argmax(Value x, std::int64_t axis);
Value argmin(Value x, std::int64_t axis);
// The mean, and the variance, which divides by the number of elements (PyTorch's var with
// correction 0). The mean of bool is the share of true, in f32. Throw kDtype for integers.
Value mean(Value x, std::int64_t axis);
Value variance(Value x, std::int64_t axis);
// The root of the variance: 0, with a gradient of 0, where all elements are equal.
Value standard_deviation(Value x, std::int64_t axis);

// Over all elements, in row-major order; the result is a scalar.
Value sum(Value x);
Value mean(Value x);

// Inserts the reduced axis again and repeats the value along it; `shape` is the result's shape.
Value expand_axis(Value reduced, const Shape& shape, std::int64_t axis);

}  // namespace limpid
