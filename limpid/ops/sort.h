// Sorting along an axis: argsort, and top_k.
#pragma once

#include <cstdint>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op argsort;
}  // namespace op

// The indices that sort x along an axis, as i32. A NaN is larger than every number. The sort is
// stable, also if descending; -0 and +0 are equal. Throws kShape, kDtype.
Value argsort(Value x, std::int64_t axis = -1, bool descending = false);

// The results of top_k; the axis has size k in both.
struct TopK {
  Value values, indices;  // indices i32
};
// The k largest (or smallest) elements along an axis, the largest (smallest) first, and their
// indices. Of equal elements the first ones are chosen. Throws kShape if there are fewer than k.
TopK top_k(Value x, std::int64_t k, std::int64_t axis = -1, bool largest = true);

}  // namespace limpid
