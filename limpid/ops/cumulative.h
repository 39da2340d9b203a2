// Sums of all elements up to each one along an axis.
#pragma once

#include <cstdint>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op cumulative_sum;
}  // namespace op

// Which elements a result takes in.
struct CumulativeOptions {
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the element to the end
};

// Element i is x(0) + ... + x(i) along an axis. Sums of integers wrap around.
Value cumulative_sum(Value x, std::int64_t axis, const CumulativeOptions& options = {});

}  // namespace limpid
