// Order along an axis: argsort, and what is made of it.
#pragma once

#include <cstdint>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op argsort;
}  // namespace op

// The places of the elements of each line along an axis, in the order of the elements, as i32. A
// NaN counts as larger than every number; what is equal, -0 and +0 among it, stays in its order,
// also where the order is descending. Throws kShape, kDtype.
Value argsort(Value x, std::int64_t axis = -1, bool descending = false);

// What top_k gives, the axis being of size k in both.
struct TopK {
  Value values, indices;  // indices i32
};
// The k largest (or smallest) elements along an axis, in that order, and their places; of equal
// ones those that come first. Throws kShape where there are fewer than k.
TopK top_k(Value x, std::int64_t k, std::int64_t axis = -1, bool largest = true);

}  // namespace limpid
