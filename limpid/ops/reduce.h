// Reductions over one axis, which disappears: sum, prod, max, min, argmax. Several axes are reduced
// one after the other.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op sum, prod, max, min, argmax;
}  // namespace op

// Over one axis; -1 is the last. An empty sum is 0, an empty max the lowest number (-infinity), an
// empty min the highest. Sums of integers wrap around.
Value sum(Value x, std::int64_t axis);
// The product; an empty one is 1. Halves of the axis are multiplied with each other until one
// element is left.
Value prod(Value x, std::int64_t axis);
Value max(Value x, std::int64_t axis);
Value min(Value x, std::int64_t axis);
// The place of the first largest element, or of the first NaN, as i32. Throws kShape for an empty
// axis. argmin: of the first smallest.
Value argmax(Value x, std::int64_t axis);
Value argmin(Value x, std::int64_t axis);
// The mean, and the mean square of what is left when that is taken away: the variance that divides
// by the number of elements (PyTorch's var with correction 0).
Value mean(Value x, std::int64_t axis);
Value variance(Value x, std::int64_t axis);

// Over all elements, as if they stood in one row.
Value sum(Value x);
Value mean(Value x);

// A reduced value with its axis put back, repeated to `shape`.
Value expand_axis(Value reduced, const Shape& shape, std::int64_t axis);

}  // namespace limpid
