// The heads of attention: features as heads times the features of each. Depends on ops/shape.h.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "limpid/ops/shape.h"

namespace limpid::nn::detail {

inline Value transposed_heads(const Value& x) {
  std::vector<std::int64_t> permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[x.rank() - 3], permutation[x.rank() - 2]);
  return transpose(x, permutation);
}

// (..., length, heads * head) to (..., heads, length, head).
inline Value split_heads(const Value& x, std::int64_t heads) {
  const std::size_t last = x.rank() - 1;
  const std::int64_t head = x.shape().back() / heads;
  return transposed_heads(reshape(x, x.shape().replace(last, heads).insert(last + 1, head)));
}

// The inverse.
inline Value join_heads(const Value& x) {
  const Value rows = transposed_heads(x);
  const Shape shape = rows.shape();
  const std::int64_t features = shape.back() * shape[shape.rank() - 2];
  return reshape(rows, shape.erase(shape.rank() - 1).replace(shape.rank() - 2, features));
}

}  // namespace limpid::nn::detail
