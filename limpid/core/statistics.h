// The numbers of a tensor as f64, and what can be said of all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid {

// Of any dtype; f64 has all values but those of i64 beyond 2^53, which are rounded.
std::vector<double> to_doubles(const Tensor& tensor);

// The indices of an element counted row by row, one for each dimension.
std::vector<std::int64_t> place_of(std::int64_t element, const Shape& shape);

// Of the elements of one tensor, in f64 whatever its dtype. min to max are those of the finite
// elements, NaN where there are none; `std` is the population's (n below the sum).
struct Statistics {
  std::int64_t count = 0;
  double min = 0;
  double mean = 0;
  double std = 0;
  double max = 0;
  double zero_share = 0;  // of all elements, -0 among them; 0 where there are no elements
  std::int64_t nans = 0;
  std::int64_t infs = 0;
};
Statistics statistics(const Tensor& tensor);

}  // namespace limpid
