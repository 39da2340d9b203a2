// The stated bounds of the elementary functions, sampled. The figures of docs/arithmetic.md come
// from all 2^32 floats: LIMPID_ULP_STEP=1 repeats that.
#include <algorithm>
#include <cstdlib>

#include "limpid/core/arithmetic.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

struct Function {
  const char* name;
  float (*ours)(float);
  double (*exact)(double);
  double bound;
};

double sigmoid64(double x) {
  return x >= 0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x));
}

// The distance between neighbouring floats at x.
double ulp(double x) {
  int exponent = 0;
  std::frexp(x == 0 ? 0x1p-149 : x, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

std::string label(const ::testing::TestParamInfo<Function>& info) { return info.param.name; }

class Ulp : public ::testing::TestWithParam<Function> {};

TEST_P(Ulp, StaysBelowItsBound) {
  const Function& f = GetParam();
  const char* const text = std::getenv("LIMPID_ULP_STEP");
  const std::uint64_t step = text != nullptr ? std::strtoull(text, nullptr, 10) : 4099;
  ASSERT_GT(step, 0u);
  double worst = 0;
  float worst_at = 0;
  for (std::uint64_t b = 0; b < (1ull << 32); b += step) {
    const float x = from_bits(static_cast<std::uint32_t>(b));
    const float y = f.ours(x);
    const double exact = f.exact(x);
    const float nearest = static_cast<float>(exact);
    if (std::isnan(nearest) || std::isinf(nearest) || std::isinf(y)) {
      ASSERT_TRUE(same(y, nearest)) << f.name << "(" << x << ") is " << y;
      continue;
    }
    ASSERT_EQ(std::signbit(y), std::signbit(nearest)) << f.name << "(" << x << ")";
    const double error = std::fabs(y - exact) / ulp(exact);
    ASSERT_FALSE(std::isnan(error)) << f.name << "(" << x << ")";
    if (error > worst) {
      worst = error;
      worst_at = x;
    }
  }
  EXPECT_LE(worst, f.bound) << f.name << " at " << worst_at;
  // A correctly rounded function would err by half a unit somewhere: less means that nothing ran.
  EXPECT_GT(worst, 0.49) << f.name;
  RecordProperty("worst_ulp", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(Functions, Ulp,
                         ::testing::Values(Function{"exp", arithmetic::exp, std::exp, 0.90},
                                           Function{"log", arithmetic::log, std::log, 0.95},
                                           Function{"tanh", arithmetic::tanh, std::tanh, 0.98},
                                           Function{"erf", arithmetic::erf, std::erf, 1.00},
                                           Function{"sigmoid", arithmetic::sigmoid, sigmoid64,
                                                    0.95},
                                           Function{"log1p", arithmetic::log1p, std::log1p, 0.51},
                                           Function{"expm1", arithmetic::expm1, std::expm1, 0.51},
                                           Function{"sin", arithmetic::sin, std::sin, 0.51},
                                           Function{"cos", arithmetic::cos, std::cos, 0.51}),
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
  for (float (*const f)(float) :
       {static_cast<float (*)(float)>(ar::exp), static_cast<float (*)(float)>(ar::log),
        static_cast<float (*)(float)>(ar::tanh), static_cast<float (*)(float)>(ar::erf),
        static_cast<float (*)(float)>(ar::sigmoid)})
    EXPECT_TRUE(std::isnan(f(kNan)));
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

double power_error(float x, float y) {
  const float got = arithmetic::power(x, y);
  const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(nearest) || std::isinf(nearest) || nearest == 0)
    return same(got, nearest) ? 0 : std::numeric_limits<double>::infinity();
  if (std::signbit(got) != std::signbit(nearest)) return std::numeric_limits<double>::infinity();
  return std::fabs(got - exact) / ulp(exact);
}

// C's pow has the same special values; 2^18 pairs of each kind for the others.
TEST(Arithmetic, PowerOfEveryKindOfPair) {
  std::vector<float> values = special_values();
  for (const float x :
       {2.0f, -2.0f, 3.0f, -3.0f, 1.5f, -1.5f, 16777215.0f, -16777215.0f, 33554432.0f,
        0x1.fffffep127f, -0x1.fffffep127f, 127.0f, 128.0f, -149.0f, -150.0f})
    values.push_back(x);
  for (const float x : values)
    for (const float y : values)
      EXPECT_LE(power_error(x, y), 0.53) << "power(" << x << ", " << y << ")";
  double worst = 0;
  for (std::uint64_t i = 0; i < 1u << 18; ++i) {
    const float near_one = 1.0f + 0.01f * value(11, i);
    const float any = from_bits(Key(12).word(i) & 0x7fffffff);
    const float large = 8000.0f * value(13, i);
    worst = std::max(worst, power_error(near_one, large));
    if (!std::isnan(any)) worst = std::max(worst, power_error(any, 1.1f * value(14, i)));
    worst = std::max(worst, power_error(any, from_bits(Key(15).word(i))));
  }
  EXPECT_LE(worst, 0.53);
  EXPECT_GT(worst, 0.49);
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

// The definitions themselves, spelled out once more without loops that could share a mistake.
TEST(Arithmetic, SumsAreBlockedAsSpecified) {
  const std::vector<float> x = values(1, 600), w = values(2, 600);
  float blocks[3] = {};
  for (std::size_t i = 0; i < 600; ++i) blocks[i / 256] = std::fma(x[i], w[i], blocks[i / 256]);
  EXPECT_TRUE(
      same(arithmetic::dot(x.data(), 1, w.data(), 1, 600), (blocks[0] + blocks[1]) + blocks[2]));
  EXPECT_TRUE(same(arithmetic::dot(x.data(), 1, w.data(), 1, 0), 0.0f));

  float column[3] = {};
  for (std::size_t i = 0; i < 300; ++i) column[i / 256] += x[2 * i];
  EXPECT_TRUE(same(arithmetic::strided_sum(x.data(), 2, 300), column[0] + column[1]));

  float p[16] = {};
  for (std::size_t i = 0; i < 600; ++i) p[i % 16] += x[i];
  const auto pair = [&](int i) { return p[i] + p[i + 8]; };
  const auto quad = [&](int i) { return pair(i) + pair(i + 4); };
  EXPECT_TRUE(same(arithmetic::sum(x), (quad(0) + quad(2)) + (quad(1) + quad(3))));
}

}  // namespace
}  // namespace limpid::kernels
