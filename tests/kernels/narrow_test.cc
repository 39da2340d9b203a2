// Products with low-precision weights at the end of memory: nothing beyond the operands is read or
// written, whichever part of the result is computed.
#include <algorithm>
#include <cmath>

#include "limpid/core/arithmetic.h"
#include "limpid/core/half.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

class NarrowTest : public OnEveryIsa {
 protected:
  struct Sizes {
    std::size_t m, n, k;
  };

  // Rows and columns in parts, each with its own scratch memory; operands, the packed weights and
  // the scratch memory end at a protected page.
  void expect_product(const NarrowKernels& narrow, const void* weights, const Floats& scale,
                      const Floats& a, const std::vector<float>& expected, Sizes s,
                      std::size_t row_parts, std::size_t column_parts, bool from_memory) const {
    GuardedVector<std::byte> packed(narrow.packed_bytes(s.k, s.n));
    narrow.pack(weights, 1, s.k, s.k, s.n, packed.data());
    const Floats bias = values(2, s.n);
    Guarded c(s.m * s.n, 3);
    const NarrowMatmul product{.n = s.n,
                               .k = s.k,
                               .a = a.data(),
                               .a_row_stride = s.k,
                               .packed_b = packed.data(),
                               .scale = scale.data(),
                               .c = c.data(),
                               .c_row_stride = s.n,
                               .bias = bias.data(),
                               .relu = true,
                               .from_memory = from_memory};
    const std::size_t panels = (s.n + narrow.panel_width - 1) / narrow.panel_width;
    const auto column = [&](std::size_t part) {
      return std::min(s.n, panels * part / column_parts * narrow.panel_width);
    };
    for (std::size_t r = 0; r < row_parts; ++r)
      for (std::size_t p = 0; p < column_parts; ++p) {
        const Range rows{s.m * r / row_parts, s.m * (r + 1) / row_parts};
        GuardedVector<std::byte> scratch(narrow.scratch_bytes(rows.end - rows.begin, s.k));
        narrow.matmul(product, rows, {column(p), column(p + 1)}, scratch.data());
      }
    EXPECT_TRUE(same_values(c.data(), expected.data(), expected.size()))
        << s.m << " x " << s.n << " x " << s.k;
    EXPECT_TRUE(c.guards_intact());
  }

  static constexpr Sizes kSizes[] = {{1, 1, 1},      {1, 33, 7},   {2, 16, 64},  {3, 31, 65},
                                     {13, 70, 9},    {50, 35, 33}, {100, 5, 19}, {1, 129, 300},
                                     {8, 700, 1000}, {4, 66, 9},   {5, 66, 9},   {6, 66, 9},
                                     {7, 66, 300},   {8, 66, 300}, {9, 66, 9}};
};

TEST_P(NarrowTest, Bf16IsTheProductOfWidenedWeights) {
  for (const Sizes& s : kSizes) {
    GuardedVector<Bf16> weights(s.n * s.k);
    std::vector<float> wide;
    for (const float v : values(3, s.n * s.k)) {
      weights[wide.size()] = to_bf16(v);
      wide.push_back(to_f32(to_bf16(v)));
    }
    const Floats a = values(1, s.m * s.k), bias = values(2, s.n);
    std::vector<float> expected;
    for (std::size_t i = 0; i < s.m; ++i)
      for (std::size_t j = 0; j < s.n; ++j)
        expected.push_back(arithmetic::maximum(
            arithmetic::dot(&a[i * s.k], 1, &wide[j * s.k], 1, s.k) + bias[j], 0.0f));
    for (const std::size_t parts : {1, 2, 3})
      for (const bool from_memory : {false, true})
        expect_product(k().bf16, weights.data(), {}, a, expected, s, parts, 4 - parts, from_memory);
  }
}

TEST_P(NarrowTest, Bf16OfNoTermsIsTheBias) {
  const Sizes s{3, 40, 0};
  std::vector<float> expected;
  for (std::size_t i = 0; i < s.m; ++i)
    for (const float bias : values(2, s.n)) expected.push_back(arithmetic::maximum(bias, 0.0f));
  expect_product(k().bf16, nullptr, {}, {}, expected, s, 1, 1, false);
}

TEST_P(NarrowTest, I8IsItsDefinition) {
  for (const Sizes& s : kSizes) {
    GuardedVector<std::int8_t> weights(s.n * s.k);
    for (std::size_t i = 0; i < s.n * s.k; ++i)
      weights[i] = static_cast<std::int8_t>(Key(3).below(256, i));
    const Floats a = values(1, s.m * s.k), bias = values(2, s.n), scale = values(4, s.n);
    std::vector<float> expected;
    for (std::size_t i = 0; i < s.m; ++i) {
      float largest = 0;
      for (std::size_t t = 0; t < s.k; ++t) largest = std::max(largest, std::fabs(a[i * s.k + t]));
      const float factor = 127.0f / largest;
      for (std::size_t j = 0; j < s.n; ++j) {
        std::int32_t sum = 0;
        for (std::size_t t = 0; t < s.k; ++t)
          sum += static_cast<std::int32_t>(std::nearbyint(a[i * s.k + t] * factor)) *
                 weights[j * s.k + t];
        const float both = largest / 127.0f * scale[j];
        expected.push_back(arithmetic::maximum(static_cast<float>(sum) * both + bias[j], 0.0f));
      }
    }
    for (const std::size_t parts : {1, 2, 3})
      for (const bool from_memory : {false, true})
        expect_product(k().i8, weights.data(), scale, a, expected, s, parts, 4 - parts,
                       from_memory);
  }
}

// docs/arithmetic.md, "Narrow weights": all codes of a row with an infinity are 0, and its scale is
// infinite.
TEST_P(NarrowTest, I8RowsWithAnInfinityOrNanGiveNan) {
  for (const Sizes& s : {Sizes{1, 33, 7}, Sizes{3, 66, 100}}) {
    const std::vector<std::int8_t> weights(s.n * s.k, 3);
    const Floats scale = values(4, s.n);
    const std::vector<float> expected(s.m * s.n, kNan);
    for (const float special : {kInf, -kInf, kNan})
      for (std::size_t at = 0; at < s.k; ++at) {
        Floats a = values(1, s.m * s.k);
        for (std::size_t i = 0; i < s.m; ++i) a[i * s.k + at] = special;
        expect_product(k().i8, weights.data(), scale, a, expected, s, 1, 1, false);
      }
  }
}

LIMPID_ON_EVERY_ISA(NarrowTest);

}  // namespace
}  // namespace limpid::kernels
