// Reductions, softmax and transposition against the scalar specification.
#include "limpid/core/arithmetic.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

std::vector<float> softmax_of(const std::vector<float>& x) {
  float highest = -kInf;
  for (const float v : x) highest = arithmetic::maximum(highest, v);
  std::vector<float> e;
  for (const float v : x) e.push_back(arithmetic::exp(v - highest));
  const float share = 1.0f / arithmetic::sum(e);
  for (float& v : e) v *= share;
  return e;
}
std::vector<float> log_softmax_of(const std::vector<float>& x) {
  float highest = -kInf;
  for (const float v : x) highest = arithmetic::maximum(highest, v);
  std::vector<float> e;
  for (const float v : x) e.push_back(arithmetic::exp(v - highest));
  const float log_sum = arithmetic::log(arithmetic::sum(e));
  std::vector<float> out;
  for (const float v : x) out.push_back((v - highest) - log_sum);
  return out;
}
std::vector<float> sum_of(const std::vector<float>& x) { return {arithmetic::sum(x)}; }
std::vector<float> max_of(const std::vector<float>& x) {
  float highest = -kInf;
  for (const float v : x) highest = arithmetic::maximum(highest, v);
  return {highest};
}

std::vector<float> min_of(const std::vector<float>& x) {
  float lowest = kInf;
  for (const float v : x) lowest = arithmetic::minimum(lowest, v);
  return {lowest};
}

// Rows of every kind: ordinary ones, ties, signed zeros, NaN, infinities and nothing else, wide
// ranges.
float entry(std::uint64_t row, std::uint64_t i) {
  const std::uint32_t word = Key(row).word(i);
  switch (row % 9) {
    case 1:
      return static_cast<float>(word % 3);
    case 2:
      return word % 2 != 0 ? -0.0f : 0.0f;
    case 3:
      return i == 5 ? kNan : value(row, i);
    case 4:
      return i % 11 == 3 ? -kInf : 30.0f * value(row, i);
    case 5:
      return special_values()[word % special_values().size()];
    case 6:
      return 1e4f * value(row, i);
    case 7:
      return kInf;
    case 8:
      return -kInf;
    default:
      return 4.0f * value(row, i);
  }
}

class RowsTest : public OnEveryIsa {
 protected:
  using Kernel = void (*)(const float*, std::size_t, std::size_t, float*);
  using Reference = std::vector<float> (*)(const std::vector<float>&);

  // `kernel` on matrices of all widths; the result has `per_row(width)` columns.
  void check(const char* what, Kernel kernel, Reference reference, bool keeps_shape) {
    std::vector<std::size_t> widths;
    for (std::size_t n = 0; n <= 35; ++n) widths.push_back(n);
    for (const std::size_t n : {47, 64, 100, 255, 256, 257, 1000, 2048, 2049, 2300})
      widths.push_back(n);
    // Blocks of a row, one that is not full among them.
    for (const std::size_t n : {4096, 3 * 4096 - 3}) widths.push_back(n);
    for (const std::size_t n : widths) {
      for (std::size_t offset = 0; offset < (n < 4096 ? 4 : 1); ++offset) {
        const std::size_t rows = n < 4096 ? 18 : 2;
        Guarded in(rows * n, offset);
        Guarded out(keeps_shape ? rows * n : rows, (offset + 1) % 4);
        std::vector<float> want;
        for (std::size_t r = 0; r < rows; ++r) {
          std::vector<float> row(n);
          for (std::size_t i = 0; i < n; ++i) row[i] = in[r * n + i] = entry(r, i);
          const std::vector<float> y = reference(row);
          want.insert(want.end(), y.begin(), y.end());
        }
        kernel(in.data(), rows, n, out.data());
        ASSERT_EQ(want.size(), out.size());
        ASSERT_TRUE(same_values(out.data(), want.data(), want.size())) << what << " n " << n;
        ASSERT_TRUE(out.guards_intact()) << what << " n " << n;
        if (keeps_shape) {
          kernel(in.data(), rows, n, in.data());
          ASSERT_TRUE(same_values(in.data(), want.data(), want.size()))
              << what << " in place " << n;
          ASSERT_TRUE(in.guards_intact()) << what << " in place " << n;
        }
      }
    }
  }
};

TEST_P(RowsTest, Softmax) { check("softmax", k().softmax, softmax_of, true); }
TEST_P(RowsTest, LogSoftmax) { check("log_softmax", k().log_softmax, log_softmax_of, true); }
TEST_P(RowsTest, SumRows) { check("sum_rows", k().sum_rows, sum_of, false); }
TEST_P(RowsTest, MaxRows) { check("max_rows", k().max_rows, max_of, false); }
TEST_P(RowsTest, MinRows) { check("min_rows", k().min_rows, min_of, false); }

// Enough elements for streaming stores, against calls of a few rows, which use none. The laws
// compare those with the specification.
TEST_P(RowsTest, NormsOfMoreThanTheCachesHold) {
  constexpr std::size_t kColumns = 1001, kRows = (std::size_t{4} << 20) / kColumns + 3;
  const Floats in = values(1, kRows * kColumns), gamma = values(2, kColumns);
  const auto norm = [&](bool centered, std::size_t first, std::size_t rows, float* out) {
    const float* const from = &in[first * kColumns];
    if (centered)
      k().layer_norm(from, rows, kColumns, 1e-5f, gamma.data(), gamma.data(), out);
    else
      k().rms_norm(from, rows, kColumns, 1e-5f, gamma.data(), out);
  };
  for (const bool centered : {false, true}) {
    std::vector<float> want(in.size());
    for (std::size_t r = 0; r < kRows; ++r) norm(centered, r, 1, &want[r * kColumns]);
    for (const std::size_t offset : {0, 3}) {
      Guarded out(in.size(), offset);
      norm(centered, 0, kRows, out.data());
      ASSERT_TRUE(same_values(out.data(), want.data(), in.size())) << centered << offset;
      ASSERT_TRUE(out.guards_intact()) << centered << offset;
    }
  }
}

// The first vector that is aligned may begin behind the row.
TEST_P(RowsTest, NormsOfManyRowsShorterThanAVector) {
  constexpr std::size_t kColumns = 3, kRows = (std::size_t{4} << 20) / kColumns + 3, kFew = 1000;
  const Floats in = values(1, kRows * kColumns), gamma = values(2, kColumns);
  std::vector<float> want(in.size());
  for (std::size_t r = 0; r < kRows; r += kFew)
    k().rms_norm(&in[r * kColumns], std::min(kFew, kRows - r), kColumns, 1e-5f, gamma.data(),
                 &want[r * kColumns]);
  Guarded out(in.size(), 2);
  k().rms_norm(in.data(), kRows, kColumns, 1e-5f, gamma.data(), out.data());
  EXPECT_TRUE(same_values(out.data(), want.data(), in.size()));
  EXPECT_TRUE(out.guards_intact());
}

// The mean of zeros is +0 whatever their signs, so that less the mean -0 stays -0.
TEST_P(RowsTest, NormsOfMinusZerosAreMinusZeros) {
  for (std::size_t columns = 1; columns <= 36; ++columns) {
    const Floats in(3 * columns, -0.0f);
    Floats out(in.size());
    const std::vector<float> want(in.size(), -0.0f);
    k().layer_norm(in.data(), 3, columns, 1e-5f, nullptr, nullptr, out.data());
    EXPECT_TRUE(same_values(out.data(), want.data(), want.size())) << "layer norm of " << columns;
    k().rms_norm(in.data(), 3, columns, 1e-5f, nullptr, out.data());
    EXPECT_TRUE(same_values(out.data(), want.data(), want.size())) << "RMS norm of " << columns;
  }
}

TEST_P(RowsTest, SoftmaxOfExtremes) {
  const float large[2] = {1e9f, -1e9f};
  float out[2];
  k().softmax(large, 1, 2, out);
  EXPECT_TRUE(same(out[0], 1.0f) && same(out[1], 0.0f));
  const float nan[3] = {1.0f, kNan, 2.0f};
  float all[3];
  k().softmax(nan, 1, 3, all);
  for (const float v : all) EXPECT_TRUE(std::isnan(v));
  k().log_softmax(nan, 1, 3, all);
  for (const float v : all) EXPECT_TRUE(std::isnan(v));
}

TEST_P(RowsTest, EmptyReductions) {
  float out[2] = {1, 1};
  k().sum_rows(nullptr, 2, 0, out);
  EXPECT_TRUE(same(out[0], 0.0f) && same(out[1], 0.0f));
  k().max_rows(nullptr, 2, 0, out);
  EXPECT_TRUE(same(out[0], -kInf) && same(out[1], -kInf));
  k().min_rows(nullptr, 2, 0, out);
  EXPECT_TRUE(same(out[0], kInf) && same(out[1], kInf));
  k().sum_columns(nullptr, 0, 2, {0, 2}, out);
  EXPECT_TRUE(same(out[0], 0.0f) && same(out[1], 0.0f));
  k().max_columns(nullptr, 0, 2, {0, 2}, out);
  EXPECT_TRUE(same(out[0], -kInf) && same(out[1], -kInf));
}

TEST_P(RowsTest, Columns) {
  for (const std::size_t rows : {0, 1, 2, 15, 255, 256, 257, 513, 7 * 256 + 3}) {
    for (const std::size_t columns : {1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 70, 130}) {
      Guarded in(rows * columns, 1);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) in[r * columns + c] = entry(c, r);
      std::vector<float> sums(columns), maxima(columns, -kInf), minima(columns, kInf);
      for (std::size_t c = 0; c < columns; ++c) {
        sums[c] = arithmetic::strided_sum(in.data() + c, columns, rows);
        for (std::size_t r = 0; r < rows; ++r) {
          maxima[c] = arithmetic::maximum(maxima[c], in[r * columns + c]);
          minima[c] = arithmetic::minimum(minima[c], in[r * columns + c]);
        }
      }
      for (const std::size_t cut : {std::size_t{0}, columns / 3, columns}) {
        Guarded out(columns, 2);
        k().sum_columns(in.data(), rows, columns, {0, cut}, out.data());
        for (std::size_t c = cut; c < columns; ++c)
          ASSERT_EQ(bits(out[c]), 0xA5A5A5A5u) << "of another part, " << cut << " of " << columns;
        k().sum_columns(in.data(), rows, columns, {cut, columns}, out.data());
        ASSERT_TRUE(same_values(out.data(), sums.data(), columns)) << rows << " x " << columns;
        ASSERT_TRUE(out.guards_intact());
        k().max_columns(in.data(), rows, columns, {cut, columns}, out.data());
        k().max_columns(in.data(), rows, columns, {0, cut}, out.data());
        ASSERT_TRUE(same_values(out.data(), maxima.data(), columns)) << rows << " x " << columns;
        ASSERT_TRUE(out.guards_intact());
        k().min_columns(in.data(), rows, columns, {cut, columns}, out.data());
        k().min_columns(in.data(), rows, columns, {0, cut}, out.data());
        ASSERT_TRUE(same_values(out.data(), minima.data(), columns)) << rows << " x " << columns;
        ASSERT_TRUE(out.guards_intact());
      }
    }
  }
}

TEST_P(RowsTest, Transpose) {
  for (const std::size_t rows : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 64, 67}) {
    for (const std::size_t columns : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 71}) {
      Guarded in(rows * columns, 1), out(rows * columns, 3);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
      const std::size_t cut = columns / 3;
      k().transpose(in.data(), rows, columns, {cut, columns}, out.data());
      k().transpose(in.data(), rows, columns, {0, cut}, out.data());
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
          ASSERT_EQ(out[c * rows + r], in[r * columns + c]) << rows << " x " << columns;
      ASSERT_TRUE(out.guards_intact()) << rows << " x " << columns;
    }
  }
}

LIMPID_ON_EVERY_ISA(RowsTest);

}  // namespace
}  // namespace limpid::kernels
