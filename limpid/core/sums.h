// The summation orders of docs/arithmetic.md: partial sums, blocks, and the tree over blocks.
#pragma once

#include <array>
#include <cstddef>

#include "limpid/core/arithmetic.h"

namespace limpid::arithmetic {

// Adds totals as a tree, while they come in order: the sum over [a, b) is the sum over [a, m) plus
// the sum over [m, b), where m - a is the largest power of two below b - a.
template <class T>
class Tree {
 public:
  void add(T total) {
    for (std::size_t left = count_++; left % 2 == 1; left /= 2) total = waiting_[--depth_] + total;
    waiting_[depth_++] = total;
  }
  // +0 if there are none.
  T total() const {
    if (depth_ == 0) return T{0};
    T sum = waiting_[depth_ - 1];
    for (std::size_t i = depth_ - 1; i-- > 0;) sum = waiting_[i] + sum;
    return sum;
  }

 private:
  std::array<T, 64> waiting_{};  // sums over 2^p totals, p falling
  std::size_t depth_ = 0;
  std::size_t count_ = 0;
};

// kPartials sums at once.
template <class T>
struct Partials {
  std::array<T, kPartials> sum{};

  friend Partials operator+(Partials a, const Partials& b) {
    for (std::size_t p = 0; p < kPartials; ++p) a.sum[p] += b.sum[p];
    return a;
  }
  // As a tree: 8, 4, 2, 1.
  T fold() const {
    Partials p = *this;
    for (std::size_t half = kPartials / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) p.sum[i] += p.sum[i + half];
    return p.sum[0];
  }
};

// Adds element i to partial i mod kPartials.
template <class T>
Partials<T> in_partials(const T* x, std::size_t n) {
  Partials<T> partials;
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials)
    for (std::size_t p = 0; p < kPartials; ++p) partials.sum[p] += x[i + p];
  for (std::size_t p = 0; i + p < n; ++p) partials.sum[p] += x[i + p];
  return partials;
}

// The sum of at most kRowBlock elements: the partials of runs of kRun, added in order, then folded.
template <class T>
T block_sum(const T* x, std::size_t n) {
  Partials<T> partials;
  for (std::size_t begin = 0; begin < n; begin += kRun)
    partials = partials + in_partials(x + begin, n - begin < kRun ? n - begin : kRun);
  return partials.fold();
}

// The sum of a row: blocks of kRowBlock elements, their totals as a tree.
template <class T>
T row_sum(const T* x, std::size_t n) {
  if (n <= kRowBlock) return block_sum(x, n);
  Tree<T> tree;
  for (std::size_t begin = 0; begin < n; begin += kRowBlock)
    tree.add(block_sum(x + begin, n - begin < kRowBlock ? n - begin : kRowBlock));
  return tree.total();
}

// Calls take(total) for blocks of kBlock terms: `step` adds each term, from +0 on.
template <class T, class Step, class Take>
void for_each_block(std::size_t n, Step step, Take take) {
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = n - begin < kBlock ? n : begin + kBlock;
    T block = 0;
    for (std::size_t i = begin; i < end; ++i) block = step(block, i);
    take(block);
  }
}

// The sum of a product: block totals are added in order, from +0.
template <class T, class Step>
T in_blocks(std::size_t n, Step step) {
  T total = 0;
  for_each_block<T>(n, step, [&](T block) { total = total + block; });
  return total;
}

// The sum over another axis than the last: block totals are added as a tree.
template <class T, class Step>
T blocks_as_tree(std::size_t n, Step step) {
  if (n <= kBlock) return in_blocks<T>(n, step);
  Tree<T> tree;
  for_each_block<T>(n, step, [&](T block) { tree.add(block); });
  return tree.total();
}

}  // namespace limpid::arithmetic
