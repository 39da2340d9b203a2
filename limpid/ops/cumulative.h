// Cumulative (prefix) sums along an axis.
#pragma once

#include <cstdint>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op cumulative_sum;
}  // namespace op

// Which elements each sum includes.
struct CumulativeOptions {
  bool exclusive = false;  // exclude the element itself
  bool reverse = false;    // sum from the element to the end
};

// Element i is x(0) + ... + x(i) along an axis; -1 is the last. Accumulated as `sum` is: integers
// and bool in i64, bf16 and f16 in f32. Throws kShape, kDtype.
Value cumulative_sum(Value x, std::int64_t axis, const CumulativeOptions& options = {});

}  // namespace limpid
