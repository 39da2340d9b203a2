// Reductions over one axis, which is removed: sum, prod, max, min, argmax. Reduce several axes one
// after the other. All throw kShape for an axis out of range, kDtype.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op sum, prod, max, min, argmax;
}  // namespace op

// Over one axis; -1 is the last. An empty sum is 0, an empty max the lowest number (-infinity), an
// empty min the highest number. Sums of integers wrap around.
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
// correction 0). Those of integers are integers, rounded towards zero.
Value mean(Value x, std::int64_t axis);
Value variance(Value x, std::int64_t axis);

// Over all elements, in row-major order; the result is a scalar.
Value sum(Value x);
Value mean(Value x);

// Inserts the reduced axis again and repeats the value along it; `shape` is the result's shape.
Value expand_axis(Value reduced, const Shape& shape, std::int64_t axis);

}  // namespace limpid
