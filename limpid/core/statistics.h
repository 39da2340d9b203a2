// The elements of a tensor as f64, and their summary statistics.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid {

// Takes any dtype. Exact, except that i64 values beyond 2^53 are rounded.
std::vector<double> to_doubles(const Tensor& tensor);

// The multi-index of the element at this row-major position: one index for each dimension.
std::vector<std::int64_t> place_of(std::int64_t element, const Shape& shape);

// Statistics of the elements of one tensor, computed in f64. min, mean, std and max are over the
// finite elements; NaN if there are none. `std` is the population standard deviation (divides by
// n).
struct Statistics {
  std::int64_t count = 0;
  double min = 0;
  double mean = 0;
  double std = 0;
  double max = 0;
  double zero_share = 0;  // of all elements, counting +0 and -0; 0 if there are none
  std::int64_t nans = 0;
  std::int64_t infs = 0;
};
Statistics statistics(const Tensor& tensor);

}  // namespace limpid
