// How far tensors are apart, for tests that compare with other programs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/function/builder.h"
#include "limpid/ops/arithmetic.h"

namespace limpid::testing {

inline std::vector<double> numbers_of(const Tensor& t) {
  const Function to_f64 = trace("f64", {{"x", t.type()}}, [](std::span<const Value> in) {
    return std::vector<Value>{cast(in[0], Dtype::kF64)};
  });
  const Tensor wide = compile(to_f64)({&t, 1}).front();
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

// The largest difference of elements over the largest magnitude; infinite where one is finite and
// the other is not. A test fails where their types differ.
inline double difference(const Tensor& got, const Tensor& expected) {
  EXPECT_EQ(to_string(got.type()), to_string(expected.type()));
  if (!(got.type() == expected.type()) || got.same_bits(expected)) return 0;
  const std::vector<double> a = numbers_of(got), b = numbers_of(expected);
  double largest = 0, most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    most = std::isfinite(a[i]) && std::isfinite(b[i]) ? std::max(most, std::abs(a[i] - b[i]))
                                                      : INFINITY;
  }
  return most == 0 ? 0 : most / largest;
}

}  // namespace limpid::testing
