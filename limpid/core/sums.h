// The two summation orders of docs/arithmetic.md: partial sums, and blocks.
#pragma once

#include <array>
#include <cstddef>

#include "limpid/core/arithmetic.h"

namespace limpid::arithmetic {

// Adds the partial sums as a tree: 8, 4, 2, 1.
template <class T>
T fold_partials(std::array<T, kPartials> p) {
  for (std::size_t half = kPartials / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) p[i] += p[i + half];
  return p[0];
}

// Adds element i to partial i mod kPartials, then the partials as a tree.
template <class T>
T in_partials(const T* x, std::size_t n) {
  std::array<T, kPartials> partials{};
  for (std::size_t i = 0; i < n; ++i) partials[i % kPartials] += x[i];
  return fold_partials(partials);
}

// Blocks of kBlock terms: `step` adds each term, from +0 on; block totals are added in order.
template <class T, class Step>
T in_blocks(std::size_t n, Step step) {
  T total = 0;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = begin + kBlock < n ? begin + kBlock : n;
    T block = 0;
    for (std::size_t i = begin; i < end; ++i) block = step(block, i);
    total = begin == 0 ? block : total + block;
  }
  return total;
}

}  // namespace limpid::arithmetic
