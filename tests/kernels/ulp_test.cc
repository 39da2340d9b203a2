// The stated bounds and the published hashes of the elementary functions, on a sample of the
// floats; sweep.cc tries all of them.
#include <fmt/format.h>

#include "limpid/core/arithmetic.h"
#include "tests/kernels/functions.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string label(const ::testing::TestParamInfo<ElementaryFunction>& info) {
  return info.param.name;
}

class Ulp : public ::testing::TestWithParam<ElementaryFunction> {};

TEST_P(Ulp, StaysBelowItsBound) {
  const ElementaryFunction& f = GetParam();
  Errors errors;
  for (std::uint64_t b = 0; b < kFloats; b += kSampleStep) {
    const float x = from_bits(static_cast<std::uint32_t>(b));
    errors.add(x, f.specification(x), f.exact(x));
  }
  EXPECT_EQ(errors.wrong, "") << f.name;
  EXPECT_LE(errors.largest, f.bound) << f.name << " at " << errors.at;
  // A correctly rounded function has an error near half a unit somewhere; less means that nothing
  // ran.
  if (f.bound > 0) {
    EXPECT_GT(errors.largest, 0.49) << f.name;
  }
}

// Every machine and every instruction set has these bits.
TEST_P(Ulp, HashIsThePublishedOne) {
  const ElementaryFunction& f = GetParam();
  std::vector<float> x, y;
  for (std::uint64_t b = 0; b < kFloats; b += kSampleStep) {
    x.push_back(from_bits(static_cast<std::uint32_t>(b)));
    y.push_back(f.specification(x.back()));
  }
  EXPECT_EQ(hex(hash_floats(y)), hex(f.hash)) << f.name << " by the specification";
  if (!f.element) return;
  for (const Isa isa : available_isas()) {
    kernels(isa).element[static_cast<std::size_t>(*f.element)](y.data(), x.data(), nullptr, nullptr,
                                                               x.size());
    EXPECT_EQ(hex(hash_floats(y)), hex(f.hash)) << f.name << " on " << name(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, Ulp,
                         ::testing::ValuesIn(elementary_functions().begin(),
                                             elementary_functions().end()),
                         label);

TEST(Arithmetic, SpecialValuesOfFunctions) {
  namespace ar = arithmetic;
  EXPECT_TRUE(same(ar::exp(0.0f), 1.0f));
  EXPECT_TRUE(same(ar::exp(-0.0f), 1.0f));
  EXPECT_TRUE(same(ar::exp(kInf), kInf));
  EXPECT_TRUE(same(ar::exp(-kInf), 0.0f));
  EXPECT_TRUE(same(ar::exp(88.72284f), kInf));
  EXPECT_TRUE(same(ar::exp(-103.0f), 1.4e-45f));
  EXPECT_TRUE(same(ar::log(0.0f), -kInf));
  EXPECT_TRUE(same(ar::log(-0.0f), -kInf));
  EXPECT_TRUE(same(ar::log(1.0f), 0.0f));
  EXPECT_TRUE(same(ar::log(kInf), kInf));
  EXPECT_TRUE(std::isnan(ar::log(-1e-45f)));
  EXPECT_TRUE(std::isnan(ar::log(-kInf)));
  for (float (*const odd)(float) :
       {static_cast<float (*)(float)>(ar::tanh), static_cast<float (*)(float)>(ar::erf)}) {
    EXPECT_TRUE(same(odd(0.0f), 0.0f));
    EXPECT_TRUE(same(odd(-0.0f), -0.0f));
    EXPECT_TRUE(same(odd(kInf), 1.0f));
    EXPECT_TRUE(same(odd(-kInf), -1.0f));
    EXPECT_TRUE(same(odd(20.0f), 1.0f));
    EXPECT_GT(odd(1e-45f), 0.0f);
  }
  EXPECT_TRUE(same(ar::sigmoid(0.0f), 0.5f));
  EXPECT_TRUE(same(ar::sigmoid(-0.0f), 0.5f));
  EXPECT_TRUE(same(ar::sigmoid(kInf), 1.0f));
  EXPECT_TRUE(same(ar::sigmoid(-kInf), 0.0f));
  EXPECT_TRUE(same(ar::sigmoid(-103.0f), 1.4e-45f));
  EXPECT_TRUE(same(ar::ndtr(0.0f), 0.5f));
  EXPECT_TRUE(same(ar::ndtr(-0.0f), 0.5f));
  EXPECT_TRUE(same(ar::ndtr(kInf), 1.0f));
  EXPECT_TRUE(same(ar::ndtr(-kInf), 0.0f));
  EXPECT_TRUE(same(ar::ndtr(-14.125f), 1.4e-45f));
  for (float (*const f)(float) :
       {static_cast<float (*)(float)>(ar::exp), static_cast<float (*)(float)>(ar::log),
        static_cast<float (*)(float)>(ar::tanh), static_cast<float (*)(float)>(ar::erf),
        static_cast<float (*)(float)>(ar::sigmoid), static_cast<float (*)(float)>(ar::ndtr)})
    EXPECT_TRUE(std::isnan(f(kNan)));
}

TEST(Arithmetic, SpecialValuesOfCircularAndHyperbolicFunctions) {
  namespace ar = arithmetic;
  using Unary = float (*)(float);
  for (const Unary odd : {Unary{ar::tan}, Unary{ar::asin}, Unary{ar::atan}, Unary{ar::sinh},
                          Unary{ar::asinh}, Unary{ar::atanh}})
    for (const float x : {0.0f, -0.0f, 1e-45f, -1e-45f, 0x1p-126f, -0x1p-126f})
      EXPECT_TRUE(same(odd(x), x)) << x;
  constexpr float kPi = 0x1.921fb6p+1f;
  EXPECT_TRUE(same(ar::asin(1.0f), kPi / 2));
  EXPECT_TRUE(same(ar::asin(-1.0f), -kPi / 2));
  EXPECT_TRUE(same(ar::acos(1.0f), 0.0f));
  EXPECT_TRUE(same(ar::acos(-1.0f), kPi));
  EXPECT_TRUE(same(ar::acos(-0.0f), kPi / 2));
  EXPECT_TRUE(same(ar::atan(kInf), kPi / 2));
  EXPECT_TRUE(same(ar::atan(-kInf), -kPi / 2));
  EXPECT_TRUE(same(ar::sinh(-kInf), -kInf));
  EXPECT_TRUE(same(ar::sinh(90.0f), kInf));
  EXPECT_TRUE(same(ar::cosh(0.0f), 1.0f));
  EXPECT_TRUE(same(ar::cosh(-kInf), kInf));
  EXPECT_TRUE(same(ar::asinh(-kInf), -kInf));
  EXPECT_TRUE(same(ar::acosh(1.0f), 0.0f));
  EXPECT_TRUE(same(ar::acosh(kInf), kInf));
  EXPECT_TRUE(same(ar::atanh(1.0f), kInf));
  EXPECT_TRUE(same(ar::atanh(-1.0f), -kInf));
  for (const Unary f :
       {Unary{ar::tan}, Unary{ar::asin}, Unary{ar::acos}, Unary{ar::atan}, Unary{ar::sinh},
        Unary{ar::cosh}, Unary{ar::asinh}, Unary{ar::acosh}, Unary{ar::atanh}})
    EXPECT_TRUE(std::isnan(f(kNan)));
  for (const Unary f : {Unary{ar::asin}, Unary{ar::acos}, Unary{ar::atanh}})
    for (const float x : {1.0000001f, -1.0000001f, kInf, -kInf}) EXPECT_TRUE(std::isnan(f(x)));
  for (const float x : {0.99999994f, -1.0f, -3.0f, -kInf}) EXPECT_TRUE(std::isnan(ar::acosh(x)));
  EXPECT_TRUE(std::isnan(ar::tan(kInf)));
}

TEST(Arithmetic, SpecialValuesOfFunctionsInF64) {
  namespace ar = arithmetic;
  using Unary = float (*)(float);
  for (const Unary odd : {Unary{ar::log1p}, Unary{ar::expm1}, Unary{ar::sin}})
    for (const float x : {0.0f, -0.0f, 1e-45f, -1e-45f, 0x1p-126f, -0x1p-126f})
      EXPECT_TRUE(same(odd(x), x)) << x;
  EXPECT_TRUE(same(ar::log1p(-1.0f), -kInf));
  EXPECT_TRUE(same(ar::log1p(kInf), kInf));
  EXPECT_TRUE(std::isnan(ar::log1p(-1.0000001f)));
  EXPECT_TRUE(std::isnan(ar::log1p(-kInf)));
  EXPECT_TRUE(same(ar::expm1(-kInf), -1.0f));
  EXPECT_TRUE(same(ar::expm1(-200.0f), -1.0f));
  EXPECT_TRUE(same(ar::expm1(kInf), kInf));
  EXPECT_TRUE(same(ar::expm1(88.72284f), kInf));
  EXPECT_TRUE(same(ar::cos(0.0f), 1.0f));
  EXPECT_TRUE(same(ar::cos(-0.0f), 1.0f));
  for (const Unary f : {Unary{ar::log1p}, Unary{ar::expm1}, Unary{ar::sin}, Unary{ar::cos}})
    EXPECT_TRUE(std::isnan(f(kNan)));
  for (const Unary f : {Unary{ar::sin}, Unary{ar::cos}}) {
    EXPECT_TRUE(std::isnan(f(kInf)));
    EXPECT_TRUE(std::isnan(f(-kInf)));
  }
}

// C's pow has the same special values.
TEST(Arithmetic, PowerOfEveryPairOfSpecialValues) {
  std::vector<float> values = special_values();
  for (const float x :
       {2.0f, -2.0f, 3.0f, -3.0f, 1.5f, -1.5f, 16777215.0f, -16777215.0f, 33554432.0f,
        0x1.fffffep127f, -0x1.fffffep127f, 127.0f, 128.0f, -149.0f, -150.0f})
    values.push_back(x);
  for (const float x : values)
    for (const float y : values) {
      Errors errors;
      errors.add(x, arithmetic::power(x, y),
                 std::pow(static_cast<double>(x), static_cast<double>(y)));
      EXPECT_EQ(errors.wrong, "") << "power(" << x << ", " << y << ")";
      EXPECT_LE(errors.largest, kPowerBound) << "power(" << x << ", " << y << ")";
    }
}

TEST(Arithmetic, PowerOfTheSample) {
  std::vector<float> x, y, z;
  Errors errors;
  for (std::uint64_t i = 0; i < kPowerSample; ++i) {
    const auto [base, exponent] = power_pair(i);
    x.push_back(base);
    y.push_back(exponent);
    z.push_back(arithmetic::power(base, exponent));
    errors.add(base, z.back(), std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  EXPECT_EQ(errors.wrong, "");
  EXPECT_LE(errors.largest, kPowerBound);
  EXPECT_GT(errors.largest, 0.49);
  EXPECT_EQ(hex(hash_floats(z)), hex(kPowerHash));
  for (const Isa isa : available_isas()) {
    kernels(isa).element[static_cast<std::size_t>(Element::kPower)](z.data(), x.data(), y.data(),
                                                                    nullptr, x.size());
    EXPECT_EQ(hex(hash_floats(z)), hex(kPowerHash)) << name(isa);
  }
}

TEST(Arithmetic, MaximumAndMinimum) {
  namespace ar = arithmetic;
  EXPECT_TRUE(same(ar::maximum(-0.0f, 0.0f), 0.0f));
  EXPECT_TRUE(same(ar::maximum(0.0f, -0.0f), 0.0f));
  EXPECT_TRUE(same(ar::minimum(-0.0f, 0.0f), -0.0f));
  EXPECT_TRUE(same(ar::minimum(0.0f, -0.0f), -0.0f));
  EXPECT_TRUE(same(ar::maximum(1.0f, 2.0f), 2.0f));
  EXPECT_TRUE(same(ar::minimum(1.0f, 2.0f), 1.0f));
  for (const float x : {0.0f, kInf, -kInf, kNan}) {
    EXPECT_TRUE(std::isnan(ar::maximum(kNan, x)));
    EXPECT_TRUE(std::isnan(ar::maximum(x, kNan)));
    EXPECT_TRUE(std::isnan(ar::minimum(kNan, x)));
    EXPECT_TRUE(std::isnan(ar::minimum(x, kNan)));
  }
}

// The definitions again, written without loops that could share a mistake.
TEST(Arithmetic, SumsAreBlockedAsSpecified) {
  const Floats x = values(1, 600), w = values(2, 600);
  float blocks[3] = {};
  for (std::size_t i = 0; i < 600; ++i) blocks[i / 256] = std::fma(x[i], w[i], blocks[i / 256]);
  EXPECT_TRUE(
      same(arithmetic::dot(x.data(), 1, w.data(), 1, 600), (blocks[0] + blocks[1]) + blocks[2]));
  EXPECT_TRUE(same(arithmetic::dot(x.data(), 1, w.data(), 1, 0), 0.0f));

  float column[3] = {};
  for (std::size_t i = 0; i < 300; ++i) column[i / 256] += x[2 * i];
  EXPECT_TRUE(same(arithmetic::strided_sum(x.data(), 2, 300), column[0] + column[1]));

  float runs[3][16] = {}, p[16] = {};
  for (std::size_t i = 0; i < 600; ++i) runs[i / 256][i % 16] += x[i];
  for (std::size_t i = 0; i < 16; ++i) p[i] = (runs[0][i] + runs[1][i]) + runs[2][i];
  const auto pair = [&](int i) { return p[i] + p[i + 8]; };
  const auto quad = [&](int i) { return pair(i) + pair(i + 4); };
  EXPECT_TRUE(same(arithmetic::sum(x), (quad(0) + quad(2)) + (quad(1) + quad(3))));
}

}  // namespace
}  // namespace limpid::kernels
