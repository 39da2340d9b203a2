// Attention, query by query: the scalar specification of its bits (docs/arithmetic.md). A key that
// a query does not see is skipped: the result depends neither on its elements nor on its presence.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "limpid/core/arithmetic.h"
#include "limpid/core/fused.h"
#include "limpid/core/sums.h"

namespace limpid::arithmetic {

// Row-major q[heads, group, queries, size], v[heads, keys, value_size], y[heads, group, queries,
// value_size]; element d of key j of head h is k[(h * keys * size) + j * key_step + d *
// element_step].
struct AttentionSizes {
  std::size_t heads;  // key/value heads
  std::size_t group;  // query heads per key/value head
  std::size_t queries, keys;
  std::size_t size, value_size;
  std::size_t key_step, element_step;
  double scale;
  std::int64_t ahead;  // query i sees key j if j <= i + ahead and the mask allows it
};

// Masks; `place` is the row-major index into [heads, group, queries, keys].
struct EveryKey {
  bool sees(std::size_t) const { return true; }
  template <class T>
  T score(T score, std::size_t) const {
    return score;
  }
};
struct SeenKeys {
  const bool* mask;
  bool sees(std::size_t place) const { return mask[place]; }
  template <class T>
  T score(T score, std::size_t) const {
    return score;
  }
};
template <class T>
struct AddedNumbers {
  const T* mask;
  bool sees(std::size_t place) const { return mask[place] != -std::numeric_limits<T>::infinity(); }
  T score(T score, std::size_t place) const { return score + mask[place]; }
};

// Softmax of scores[0, keys) over the keys that are seen; +0 for the others.
template <class T, class Mask>
void attention_weights(T* scores, std::size_t keys, const Mask& mask, std::size_t place) {
  T highest = -std::numeric_limits<T>::infinity();
  for (std::size_t j = 0; j < keys; ++j)
    if (mask.sees(place + j)) highest = maximum(highest, scores[j]);
  for (std::size_t j = 0; j < keys; ++j)
    scores[j] = mask.sees(place + j) ? exp(scores[j] - highest) : T{0};
  const T share = T{1} / row_sum(scores, keys);
  for (std::size_t j = 0; j < keys; ++j) scores[j] = scores[j] * share;
}

// The sum of weights[j] * v[j * step] over the keys that are seen, in blocks of kBlock keys.
template <class T, class Mask>
T weighted_sum(const T* weights, std::size_t keys, const Mask& mask, std::size_t place, const T* v,
               std::size_t step) {
  return in_blocks<T>(keys, [&](T sum, std::size_t j) {
    return mask.sees(place + j) ? fused(weights[j], v[j * step], sum) : sum;
  });
}

// How many of the keys query i may see by `ahead`; the others come after them.
inline std::size_t keys_in_sight(const AttentionSizes& s, std::size_t i) {
  const std::int64_t last = s.ahead + static_cast<std::int64_t>(i);
  if (last < 0) return 0;
  return static_cast<std::uint64_t>(last) < s.keys ? static_cast<std::size_t>(last) + 1 : s.keys;
}

// `scratch` holds size + keys elements.
template <class T, class Mask>
void attend(const AttentionSizes& s, const T* q, const T* k, const T* v, const Mask& mask,
            T* scratch, T* y) {
  T* const query = scratch;
  T* const scores = scratch + s.size;
  for (std::size_t h = 0; h < s.heads; ++h, k += s.keys * s.size, v += s.keys * s.value_size)
    for (std::size_t row = 0; row < s.group * s.queries; ++row, q += s.size, y += s.value_size) {
      const std::size_t keys = keys_in_sight(s, row % s.queries);
      const std::size_t place = (h * s.group * s.queries + row) * s.keys;
      for (std::size_t d = 0; d < s.size; ++d) query[d] = q[d] * static_cast<T>(s.scale);
      for (std::size_t j = 0; j < keys; ++j)
        scores[j] =
            mask.score(dot(query, 1, k + j * s.key_step, s.element_step, s.size), place + j);
      attention_weights(scores, keys, mask, place);
      for (std::size_t e = 0; e < s.value_size; ++e)
        y[e] = weighted_sum(scores, keys, mask, place, v + e, s.value_size);
    }
}

}  // namespace limpid::arithmetic
