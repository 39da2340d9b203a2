// Matrix products against arithmetic::dot: every layout of A and B, odd sizes, any cut into parts.
#include <limits>

#include "limpid/core/arithmetic.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

enum class Layout { kRowMajor, kTransposed, kPacked };

// 64-byte aligned floats, as matmul() wants its scratch.
class Aligned {
 public:
  explicit Aligned(std::size_t n) : memory_(n + 16, kNan) {}
  float* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> memory_;
};

struct Shape {
  std::size_t m, n, k;
};

// A matrix of the given layout whose rows (or columns) are `padding` floats apart.
struct Stored {
  Floats memory;
  Matrix matrix;
};
Stored stored(std::uint64_t seed, std::size_t rows, std::size_t columns, Layout layout,
              std::size_t padding) {
  Stored s;
  const bool transposed = layout == Layout::kTransposed;
  const std::size_t line = (transposed ? rows : columns) + padding;
  const std::size_t lines = transposed ? columns : rows;
  // Exactly as much as the matrix spans: reading beyond is for sanitizers to find.
  s.memory.assign(lines == 0 ? 0 : lines * line - padding, kNan);
  s.matrix = {s.memory.data(), transposed ? 1 : line, transposed ? line : 1};
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      s.memory[r * s.matrix.row_stride + c * s.matrix.col_stride] = value(seed, r * columns + c);
  return s;
}

struct Options {
  Layout a = Layout::kRowMajor, b = Layout::kRowMajor;
  bool bias = false, relu = false;
  std::size_t padding = 0;
  std::size_t row_parts = 1, column_parts = 1;
};

std::vector<float> reference(const Shape& s, const Matrix& a, const Matrix& b, const float* bias,
                             bool relu) {
  std::vector<float> c(s.m * s.n);
  for (std::size_t i = 0; i < s.m; ++i)
    for (std::size_t j = 0; j < s.n; ++j) {
      // Without terms there may be no memory to have an address in.
      float y = s.k == 0 ? 0.0f
                         : arithmetic::dot(a.data + i * a.row_stride, a.col_stride,
                                           b.data + j * b.col_stride, b.row_stride, s.k);
      if (bias != nullptr) y += bias[j];
      c[i * s.n + j] = relu ? arithmetic::maximum(y, 0.0f) : y;
    }
  return c;
}

class MatmulTest : public OnEveryIsa {
 protected:
  Floats packed(const Matrix& b, const Shape& s, std::size_t parts) {
    const std::size_t panel = k().panel_width;
    Floats out(k().packed_floats(s.k, s.n), kNan);
    const std::size_t panels = (s.n + panel - 1) / panel;
    for (std::size_t p = 0; p < parts; ++p)
      k().pack(b, s.k, s.n,
               {panels * p / parts * panel, std::min(panels * (p + 1) / parts * panel, s.n)},
               out.data());
    return out;
  }

  void check(const Shape& s, const Options& o) {
    SCOPED_TRACE(::testing::Message()
                 << s.m << " x " << s.n << " x " << s.k << ", a " << static_cast<int>(o.a) << ", b "
                 << static_cast<int>(o.b) << ", bias " << o.bias << ", relu " << o.relu
                 << ", padding " << o.padding << ", parts " << o.row_parts << " x "
                 << o.column_parts);
    const Stored a = stored(1, s.m, s.k, o.a, o.padding);
    const Stored b =
        stored(2, s.k, s.n, o.b == Layout::kPacked ? Layout::kTransposed : o.b, o.padding);
    const Floats bias = values(3, s.n);
    const std::vector<float> want =
        reference(s, a.matrix, b.matrix, o.bias ? bias.data() : nullptr, o.relu);

    Floats panels;
    if (o.b == Layout::kPacked) panels = packed(b.matrix, s, o.column_parts);
    const std::size_t c_stride = s.n + o.padding;
    Guarded c(s.m * c_stride, 1);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = kNan;
    const Matmul matmul = {.n = s.n,
                           .k = s.k,
                           .a = a.matrix,
                           .b = o.b == Layout::kPacked ? Matrix{} : b.matrix,  // then ignored
                           .packed_b = o.b == Layout::kPacked ? panels.data() : nullptr,
                           .c = c.data(),
                           .c_row_stride = c_stride,
                           .bias = o.bias ? bias.data() : nullptr,
                           .relu = o.relu};
    const std::size_t scratch_floats = k().matmul_scratch_floats(s.m, s.n, s.k);
    Aligned scratch(scratch_floats + 16);
    const std::size_t panel = k().panel_width;
    const std::size_t column_panels = (s.n + panel - 1) / panel;
    for (std::size_t i = 0; i < o.row_parts; ++i)
      for (std::size_t j = 0; j < o.column_parts; ++j) {
        for (std::size_t g = 0; g < 16; ++g) scratch.data()[scratch_floats + g] = 12345.0f;
        k().matmul(matmul, {s.m * i / o.row_parts, s.m * (i + 1) / o.row_parts},
                   {column_panels * j / o.column_parts * panel,
                    std::min(column_panels * (j + 1) / o.column_parts * panel, s.n)},
                   scratch.data());
        for (std::size_t g = 0; g < 16; ++g)
          ASSERT_EQ(scratch.data()[scratch_floats + g], 12345.0f) << "scratch overrun";
      }
    ASSERT_TRUE(c.guards_intact());
    for (std::size_t i = 0; i < s.m; ++i) {
      ASSERT_TRUE(same_values(c.data() + i * c_stride, want.data() + i * s.n, s.n)) << "row " << i;
      for (std::size_t p = 0; p < o.padding && i * c_stride + s.n + p < c.size(); ++p)
        ASSERT_TRUE(std::isnan(c[i * c_stride + s.n + p])) << "between rows, " << i;
    }
  }
};

constexpr Layout kLayouts[] = {Layout::kRowMajor, Layout::kTransposed, Layout::kPacked};

TEST_P(MatmulTest, EveryNumberOfRows) {
  for (std::size_t m = 1; m <= 70; ++m)
    for (const Layout b : kLayouts)
      for (const Layout a : {Layout::kRowMajor, Layout::kTransposed})
        check({m, k().panel_width + 5, 37}, {.a = a, .b = b});
}

TEST_P(MatmulTest, EveryNumberOfColumns) {
  for (std::size_t n = 1; n <= 5 * k().panel_width + 1; ++n)
    for (const Layout b : kLayouts)
      for (const std::size_t m : {1, 2, 3, 7})
        check({m, n, 11}, {.b = b, .bias = n % 2 == 0, .relu = n % 3 == 0});
}

TEST_P(MatmulTest, BlocksOfTheSum) {
  for (const std::size_t length : {0, 1, 2, 3, 4, 255, 256, 257, 511, 512, 513, 1025})
    for (const Layout b : kLayouts)
      for (const Layout a : {Layout::kRowMajor, Layout::kTransposed})
        for (const std::size_t m : {1, 5, 13})
          for (const bool bias : {false, true})
            check({m, 19, length}, {.a = a, .b = b, .bias = bias, .relu = bias, .padding = 3});
}

// One output, or a few: here blocks of the sum may run side by side.
TEST_P(MatmulTest, LongDots) {
  for (const std::size_t length : {256, 300, 2048, 2049, 4096, 4500, 9000})
    for (const Layout b : kLayouts)
      for (const Layout a : {Layout::kRowMajor, Layout::kTransposed})
        for (const std::size_t m : {1, 2, 9})
          for (const std::size_t n : {1, 2, 10, 17})
            check({m, n, length},
                  {.a = a, .b = b, .bias = n == 1, .relu = m == 2, .padding = m % 2});
}

// One column: lanes run over rows.
TEST_P(MatmulTest, MatrixTimesVector) {
  for (const std::size_t m : {1, 2, 7, 8, 9, 16, 31, 64, 100, 200})
    for (const std::size_t length : {1, 5, 256, 300, 600})
      for (const Layout a : {Layout::kRowMajor, Layout::kTransposed})
        for (const Layout b : kLayouts)
          check({m, 1, length},
                {.a = a, .b = b, .bias = true, .relu = m % 2 == 0, .padding = m % 3});
}

TEST_P(MatmulTest, LargerThanEveryBlock) {
  for (const Layout b : kLayouts)
    for (const Layout a : {Layout::kRowMajor, Layout::kTransposed}) {
      check({200, 70, 300}, {.a = a, .b = b, .bias = true});
      check({195, 530, 40}, {.a = a, .b = b, .relu = true, .padding = 1});
      check({33, 64, 1024}, {.a = a, .b = b});
      check({290, 520, 20}, {.a = a, .b = b, .bias = true});
      // Several blocks of the sum, and a remainder, before the next rows; A packed, too.
      check({290, 35, 1030}, {.a = a, .b = b, .bias = true, .relu = true});
      check({289, 515, 300}, {.a = a, .b = b});
      check({130, 515, 800}, {.a = a, .b = b, .bias = true, .relu = true});
      check({272, 515, 270}, {.a = a, .b = b, .row_parts = 2});
    }
}

TEST_P(MatmulTest, AsManyRowsAsOneBlockHolds) {
  for (const Layout b : kLayouts) check({288, 520, 20}, {.b = b});
}

// Products with so many columns that the rows of A are packed, also if A is read by columns, as for
// the gradient of a layer's weights; and with more rows than one block holds.
TEST_P(MatmulTest, WideProducts) {
  for (const Layout b : kLayouts)
    for (const Layout a : {Layout::kRowMajor, Layout::kTransposed}) {
      for (const std::size_t m : {7, 11, 96, 121}) check({m, 1029, 9}, {.a = a, .b = b});
      check({13, 1040, 270}, {.a = a, .b = b, .bias = true, .padding = 3});
      // So many rows that each term prefetches one cache line of a panel.
      check({50, 1040, 270}, {.a = a, .b = b, .relu = true});
      check({289, 1025, 5}, {.a = a, .b = b, .relu = true, .row_parts = 2});
      check({7, 511, 258}, {.a = a, .b = b, .column_parts = 2});
      check({7, 512, 258}, {.a = a, .b = b});
      check({513, 17, 258}, {.a = a, .b = b});
    }
}

TEST_P(MatmulTest, AnyCutIntoParts) {
  for (const Layout b : kLayouts)
    for (const Layout a : {Layout::kRowMajor, Layout::kTransposed})
      for (const std::size_t m : {1, 2, 47})
        for (const std::size_t row_parts : {1, 2, 5})
          for (const std::size_t column_parts : {1, 3})
            check({m, 90, 270}, {.a = a,
                                 .b = b,
                                 .bias = true,
                                 .relu = true,
                                 .padding = 2,
                                 .row_parts = row_parts,
                                 .column_parts = column_parts});
}

// Values that do not behave: a NaN stays in its row, -0 never comes out of a sum, infinities too.
TEST_P(MatmulTest, SpecialValues) {
  const std::size_t m = 9, n = 35, depth = 300;
  Stored a = stored(1, m, depth, Layout::kRowMajor, 0);
  Stored b = stored(2, depth, n, Layout::kRowMajor, 0);
  for (std::size_t i = 0; i < depth; ++i) {
    a.memory[2 * depth + i] = -0.0f;
    a.memory[3 * depth + i] = 1e-42f;
  }
  a.memory[0] = kNan;
  a.memory[depth + 7] = kInf;
  a.memory[4 * depth] = 3e38f;
  b.memory[5] = 3e38f;
  for (const bool relu : {false, true}) {
    const std::vector<float> want = reference({m, n, depth}, a.matrix, b.matrix, nullptr, relu);
    Floats c(m * n, 1.0f);
    const Matmul matmul = {.n = n,
                           .k = depth,
                           .a = a.matrix,
                           .b = b.matrix,
                           .packed_b = nullptr,
                           .c = c.data(),
                           .c_row_stride = n,
                           .bias = nullptr,
                           .relu = relu};
    Aligned scratch(k().matmul_scratch_floats(m, n, depth));
    k().matmul(matmul, {0, m}, {0, n}, scratch.data());
    EXPECT_TRUE(same_values(c.data(), want.data(), c.size()));
    EXPECT_TRUE(std::isnan(c[0]));
    EXPECT_TRUE(same(c[2 * n], 0.0f));
  }
}

// Terms that underflow leave -0, which the total, from +0 on, does not keep: not without a bias,
// and not with one of -0.
TEST_P(MatmulTest, UnderflowToMinusZero) {
  for (const Layout b : kLayouts)
    for (const Shape s : {Shape{1, 1, 3}, Shape{1, 1, 1500}, Shape{1, 40, 300}, Shape{30, 1, 300},
                          Shape{2, 19, 10}, Shape{7, 19, 300}}) {
      const Floats a(s.m * s.k, 1e-30f), w(s.k * s.n, -1e-30f);
      const bool transposed = b != Layout::kRowMajor;
      const Matrix matrix = {w.data(), transposed ? 1 : s.n, transposed ? s.k : 1};
      const Floats panels = packed(matrix, s, 1);
      ASSERT_TRUE(same(arithmetic::dot(a.data(), 1, w.data(), 1, s.k), 0.0f));
      const Floats bias(s.n, -0.0f);
      for (const bool biased : {false, true}) {
        Floats c(s.m * s.n, 1.0f);
        const Matmul matmul = {.n = s.n,
                               .k = s.k,
                               .a = {a.data(), s.k, 1},
                               .b = matrix,
                               .packed_b = b == Layout::kPacked ? panels.data() : nullptr,
                               .c = c.data(),
                               .c_row_stride = s.n,
                               .bias = biased ? bias.data() : nullptr,
                               .relu = false};
        Aligned scratch(k().matmul_scratch_floats(s.m, s.n, s.k));
        k().matmul(matmul, {0, s.m}, {0, s.n}, scratch.data());
        for (const float y : c)
          ASSERT_TRUE(same(y, 0.0f)) << s.m << " x " << s.n << " x " << s.k << biased;
      }
    }
}

// A single last column is packed without padding to a panel.
TEST_P(MatmulTest, LastPackedColumnStandsAlone) {
  const std::size_t panel = k().panel_width, n = panel + 1, depth = 300;
  const Stored b = stored(2, depth, n, Layout::kRowMajor, 0);
  const Floats out = packed(b.matrix, {1, n, depth}, 1);
  for (std::size_t i = 0; i < depth; ++i) {
    for (std::size_t j = 0; j < panel; ++j)
      ASSERT_TRUE(same(out[i * panel + j], b.memory[i * n + j])) << i << ", " << j;
    ASSERT_TRUE(same(out[panel * depth + i], b.memory[i * n + panel])) << i;
  }
}

// matmul_row() writes exactly n columns, or whole vectors where that is allowed.
TEST_P(MatmulTest, RowOfPacked) {
  for (const std::size_t length : {0, 1, 3, 4, 15, 16, 17, 64, 256, 261, 600})
    for (std::size_t n = 1; n <= 2 * k().panel_width + 1; n += n < 20 ? 1 : 7)
      for (const bool padded : {false, true}) {
        SCOPED_TRACE(::testing::Message() << n << " x " << length << ", padded " << padded);
        const Stored a = stored(1, 1, length, Layout::kRowMajor, 0);
        const Stored b = stored(2, length, n, Layout::kTransposed, 0);
        const Floats bias = values(3, n);
        const bool biased = n % 2 == 0, relu = n % 3 == 0;
        const std::vector<float> want =
            reference({1, n, length}, a.matrix, b.matrix, biased ? bias.data() : nullptr, relu);
        const Floats panels = packed(b.matrix, {1, n, length}, 1);
        const std::size_t lanes = k().lanes;
        Guarded c(padded ? (n + lanes - 1) / lanes * lanes : n, 3);
        k().matmul_row({.n = n, .k = length, .relu = relu, .padded = padded}, a.memory.data(),
                       panels.data(), biased ? bias.data() : nullptr, c.data());
        ASSERT_TRUE(same_values(c.data(), want.data(), n));
        ASSERT_TRUE(c.guards_intact());
      }
}

TEST_P(MatmulTest, EmptyRangesAreLeftAlone) {
  float c = 7;
  const float one = 1;
  const Matmul matmul = {.n = 1,
                         .k = 1,
                         .a = {&one, 1, 1},
                         .b = {&one, 1, 1},
                         .packed_b = nullptr,
                         .c = &c,
                         .c_row_stride = 1,
                         .bias = nullptr,
                         .relu = false};
  Aligned scratch(k().matmul_scratch_floats(1, 1, 1));
  k().matmul(matmul, {1, 1}, {0, 1}, scratch.data());
  k().matmul(matmul, {0, 1}, {0, 0}, scratch.data());
  EXPECT_EQ(c, 7.0f);
  k().matmul(matmul, {0, 1}, {0, 1}, scratch.data());
  EXPECT_EQ(c, 1.0f);
}

LIMPID_ON_EVERY_ISA(MatmulTest);

}  // namespace
}  // namespace limpid::kernels
