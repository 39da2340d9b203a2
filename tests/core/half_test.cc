// Every number of the 16-bit formats, and every tie between two of them.
#include "limpid/core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace limpid {
namespace {

struct Bf16Format {
  static constexpr int kInfinity = 0x7f80;
  static constexpr int kNan = 0x7fc0;
  static float wide(int bits) { return to_f32(Bf16{static_cast<std::uint16_t>(bits)}); }
  static int narrow(double x) { return to_bf16(x).bits; }
  static int narrow(float x) { return to_bf16(x).bits; }
};
struct F16Format {
  static constexpr int kInfinity = 0x7c00;
  static constexpr int kNan = 0x7e00;
  static float wide(int bits) { return to_f32(F16{static_cast<std::uint16_t>(bits)}); }
  static int narrow(double x) { return to_f16(x).bits; }
  static int narrow(float x) { return to_f16(x).bits; }
};

template <class T>
class Half : public testing::Test {};
using Formats = testing::Types<Bf16Format, F16Format>;
TYPED_TEST_SUITE(Half, Formats);

TYPED_TEST(Half, EveryNumberComesBack) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7fff) > TypeParam::kInfinity) {
      EXPECT_TRUE(std::isnan(TypeParam::wide(bits))) << bits;
      EXPECT_EQ(TypeParam::narrow(TypeParam::wide(bits)), TypeParam::kNan) << bits;
    } else {
      EXPECT_EQ(TypeParam::narrow(TypeParam::wide(bits)), bits);
    }
  }
}

TYPED_TEST(Half, BetweenTwoNumbersTheNearerAndTheEvenOneOfATie) {
  for (int bits = 0; bits < TypeParam::kInfinity; ++bits) {
    const double low = TypeParam::wide(bits);
    // Beyond the largest number, ties are as if exponents continued.
    const double high = bits + 1 == TypeParam::kInfinity
                            ? 2 * low - static_cast<double>(TypeParam::wide(bits - 1))
                            : static_cast<double>(TypeParam::wide(bits + 1));
    const double tie = (low + high) / 2;
    EXPECT_EQ(TypeParam::narrow(tie), bits + bits % 2);
    EXPECT_EQ(TypeParam::narrow(-tie), 0x8000 + bits + bits % 2);
    EXPECT_EQ(TypeParam::narrow(std::nextafter(tie, 0.0)), bits);
    EXPECT_EQ(TypeParam::narrow(std::nextafter(tie, 1e300)), bits + 1);
  }
}

// Each by a different method.
TYPED_TEST(Half, OfAnF32TheSameAsOfAnF64) {
  const auto expect_same = [](std::uint32_t bits) {
    const auto x = std::bit_cast<float>(bits);
    ASSERT_EQ(TypeParam::narrow(x), TypeParam::narrow(static_cast<double>(x))) << x;
  };
  for (std::uint64_t bits = 0; bits < 1ull << 32; bits += 4099)
    expect_same(static_cast<std::uint32_t>(bits));
  // Numbers of the format, ties between two of them, and the neighbours of both.
  for (int i = 0; i < 0x10000; ++i)
    for (const float x : {TypeParam::wide(i), (TypeParam::wide(i) + TypeParam::wide(i ^ 1)) / 2})
      for (std::uint32_t off = 0; off < 3; ++off)
        expect_same(std::bit_cast<std::uint32_t>(x) + off - 1);
}

TYPED_TEST(Half, LargeSmallAndNoNumbers) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(TypeParam::narrow(kLargest), TypeParam::kInfinity);
  EXPECT_EQ(TypeParam::narrow(-kLargest), 0x8000 + TypeParam::kInfinity);
  EXPECT_EQ(TypeParam::narrow(kInf), TypeParam::kInfinity);
  EXPECT_EQ(TypeParam::narrow(-kInf), 0x8000 + TypeParam::kInfinity);
  EXPECT_EQ(TypeParam::narrow(5e-324), 0);
  EXPECT_EQ(TypeParam::narrow(-5e-324), 0x8000);
  EXPECT_EQ(TypeParam::narrow(-std::nan("")), TypeParam::kNan);
}

TEST(HalfFormats, KnownNumbers) {
  EXPECT_EQ(to_f32(F16{0x3c00}), 1.0f);
  EXPECT_EQ(to_f32(F16{0x0001}), 0x1p-24f);
  EXPECT_EQ(to_f32(F16{0xfbff}), -65504.0f);
  EXPECT_EQ(to_f32(Bf16{0xc049}), -3.140625f);
  EXPECT_EQ(to_f16(65519.9).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0).bits, 0x7c00);
}

}  // namespace
}  // namespace limpid
