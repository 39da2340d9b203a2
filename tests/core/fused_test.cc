// The fused multiply-add in software, against the machine's instruction.
#include "limpid/core/fused.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "limpid/core/key.h"

namespace limpid::arithmetic {
namespace {

#if defined(__x86_64__)
[[gnu::target("fma")]] float by_the_machine(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
bool machine_has_it() { return __builtin_cpu_supports("fma"); }
#else
float by_the_machine(float a, float b, float c) { return std::fma(a, b, c); }
bool machine_has_it() {
#if defined(__aarch64__)
  return true;
#else
  return false;
#endif
}
#endif

float float_of(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

::testing::AssertionResult agree(float a, float b, float c) {
  const float got = fused_by_odd_rounding(a, b, c);
  const float want = by_the_machine(a, b, c);
  const bool same = std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(want);
  if (same || (std::isnan(got) && std::isnan(want))) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hexfloat << "fma(" << a << ", " << b << ", " << c
                                       << "): got " << got << ", expected " << want;
}

// A C library that rounds to f64 and then to f32 gives 2^-127 here.
TEST(Fused, RoundsASubnormalResultOnce) {
  const float a = 0x1.000002p-75f;
  const float b = 0x1.fffffcp-76f;
  const float c = 0x1p-127f + 0x1p-149f;
  EXPECT_EQ(fused_by_odd_rounding(a, b, c), 0x1p-127f + 0x1p-149f);
  EXPECT_EQ(fused(a, b, c), 0x1p-127f + 0x1p-149f);
}

TEST(Fused, IsTheMachinesOnSpecialValues) {
  if (!machine_has_it()) GTEST_SKIP() << "skipped: no fused multiply-add";
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::array kValues = {0.0f,
                                  1.0f,
                                  3.0f,
                                  0x1.000002p0f,
                                  0x1.fffffep0f,
                                  0x1p-149f,
                                  0x1p-148f,
                                  0x1p-127f,
                                  0x1p-126f,
                                  0x1.8p-127f,
                                  0x1p-75f,
                                  0x1.000002p-75f,
                                  0x1p-74f,
                                  0x1p-63f,
                                  0x1.000002p-63f,
                                  0x1p64f,
                                  0x1.fffffep63f,
                                  0x1p127f,
                                  0x1.fffffep127f,
                                  0x1p-24f,
                                  0x1.000002p-24f,
                                  0x1p24f,
                                  kInf,
                                  kNan};
  for (const float x : kValues)
    for (const float y : kValues)
      for (const float z : kValues)
        for (const float a : {x, -x})
          for (const float c : {z, -z}) ASSERT_TRUE(agree(a, y, c));
}

TEST(Fused, IsTheMachinesOnRandomValues) {
  if (!machine_has_it()) GTEST_SKIP() << "skipped: no fused multiply-add";
  const Key key(7);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    const float a = float_of(key.word(4 * i));
    const float b = float_of(key.word(4 * i + 1));
    const std::uint64_t bits = key.word(4 * i + 2);
    ASSERT_TRUE(agree(a, b, float_of(bits)));
    // Addends of the product's size, where digits meet and cancel; and subnormal products.
    const int places = static_cast<int>(key.word(4 * i + 3) % 61) - 30;
    const float mantissa = float_of((bits & 0x807fffff) | 0x3f800000);
    const double product = static_cast<double>(a) * static_cast<double>(b);
    if (std::isfinite(product) && product != 0) {
      ASSERT_TRUE(agree(a, b, std::ldexp(mantissa, std::ilogb(product) + places)));
    }
    const float small = std::ldexp(float_of((key.word(4 * i) & 0x807fffff) | 0x3f800000), -75);
    const float tiny = std::ldexp(mantissa, -75 + places / 2);
    ASSERT_TRUE(agree(small, tiny, float_of(bits & 0x80ffffff)));
  }
}

}  // namespace
}  // namespace limpid::arithmetic
