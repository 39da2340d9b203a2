// Sums and products of counts that a stranger's shapes may drive beyond 63 bits; the largest number
// then stands for them.
#pragma once

#include <cstdint>
#include <limits>

namespace limpid {

inline std::int64_t sum_or_most(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}
inline std::int64_t product_or_most(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

}  // namespace limpid
