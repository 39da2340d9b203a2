// The orders of sums, against their definition in docs/arithmetic.md read literally.
#include "limpid/core/sums.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "limpid/core/key.h"

namespace limpid::arithmetic {
namespace {

// Numbers of many sizes, so that another order gives other bits.
std::vector<float> numbers(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t word = Key(7).word(i);
    x[i] = static_cast<float>(word % 1999) * (word & 0x10000 ? 1e-3f : 1.0f) - 700.0f;
  }
  return x;
}

// The sum over [a, b) is the sum over [a, m) plus that over [m, b), where m - a is the largest
// power of two below b - a.
float as_defined(std::span<const float> totals) {
  if (totals.size() == 1) return totals[0];
  std::size_t m = 1;
  while (2 * m < totals.size()) m *= 2;
  return as_defined(totals.first(m)) + as_defined(totals.subspan(m));
}

TEST(Sums, TheTree) {
  EXPECT_EQ(Tree<float>().total(), 0.0f);
  const std::vector<float> x = numbers(300);
  Tree<float> tree;
  for (std::size_t n = 1; n <= x.size(); ++n) {
    tree.add(x[n - 1]);
    EXPECT_EQ(tree.total(), as_defined(std::span(x).first(n))) << n;
  }
}

// Sixteen partials for each run of 256, each partial's sums over the runs in order, then 8, 4,
// 2, 1.
float block_as_defined(std::span<const float> x) {
  std::array<float, 16> partials{};
  for (std::size_t p = 0; p < 16; ++p)
    for (std::size_t begin = 0; begin < x.size(); begin += 256) {
      float run = 0;
      for (std::size_t i = begin + p; i < std::min(begin + 256, x.size()); i += 16) run += x[i];
      partials[p] += run;
    }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t p = 0; p < half; ++p) partials[p] += partials[p + half];
  return partials[0];
}

TEST(Sums, BlocksOfARow) {
  for (const std::size_t blocks : {1, 2, 3, 4, 7, 12})
    for (const std::size_t rest :
         {std::size_t{1}, std::size_t{255}, std::size_t{257}, kRowBlock / 2 + 1, kRowBlock}) {
      const std::vector<float> x = numbers((blocks - 1) * kRowBlock + rest);
      std::vector<float> totals;
      for (std::size_t at = 0; at < x.size(); at += kRowBlock)
        totals.push_back(
            block_as_defined(std::span(x).subspan(at).first(std::min(kRowBlock, x.size() - at))));
      EXPECT_EQ(sum(x), as_defined(totals)) << blocks << " " << rest;
    }
}

TEST(Sums, BlocksOfAColumn) {
  for (const std::size_t blocks : {1, 2, 3, 4, 7, 12})
    for (const std::size_t rest : {std::size_t{1}, kBlock}) {
      const std::vector<float> x = numbers((blocks - 1) * kBlock + rest);
      std::vector<float> totals;
      for (std::size_t at = 0; at < x.size(); at += kBlock) {
        totals.push_back(0);
        for (std::size_t i = at; i < std::min(at + kBlock, x.size()); ++i) totals.back() += x[i];
      }
      EXPECT_EQ(strided_sum(x.data(), 1, x.size()), as_defined(totals)) << blocks << " " << rest;
    }
}

// A tenth, a million times: sixteen partial sums without blocks are off by 6e-4.
TEST(Sums, OfManyAlike) {
  const std::vector<float> tenths(1'000'000, 0.1f);
  const double exact = 1e6 * static_cast<double>(0.1f);
  EXPECT_NEAR(sum(tenths), exact, 1.5e-7 * exact);
  EXPECT_NEAR(strided_sum(tenths.data(), 1, tenths.size()), exact, 3e-6 * exact);
}

}  // namespace
}  // namespace limpid::arithmetic
