// Saturating sums and products: counts from untrusted shapes may overflow their type. The result is
// then the type's largest number.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace limpid {

template <std::integral T = std::int64_t>
T sum_or_most(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  T result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<T>::max() : result;
}
template <std::integral T = std::int64_t>
T product_or_most(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  T result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<T>::max() : result;
}

}  // namespace limpid
