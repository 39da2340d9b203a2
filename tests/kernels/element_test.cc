// Every element-wise kernel gives the bits of the scalar specification, at every length, every
// misalignment and in place, and touches nothing else.
#include <functional>

#include "limpid/core/arithmetic.h"
#include "limpid/core/coefficients.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

struct ElementCase {
  Element element;
  const char* name;
  int arity;
  // Lanes are passed as floats, whatever their dtype.
  std::function<float(float, float, float)> reference;
};

// In x s(x) where s(-inf) is 0.
float least_finite(float x) { return arithmetic::maximum(x, -std::numeric_limits<float>::max()); }

float as_mask(bool b) { return from_bits(b ? 0xffffffffu : 0u); }
std::int32_t as_int(float x) { return std::bit_cast<std::int32_t>(x); }

float shifted(float x, float count) {
  const std::int32_t n = as_int(count);
  return from_bits(n < 0 || n > 31 ? 0u : bits(x) >> n);
}

const std::vector<ElementCase>& element_cases() {
  namespace ar = arithmetic;
  namespace co = arithmetic::coefficients;
  static const std::vector<ElementCase> all = {
      {Element::kNegate, "negate", 1, [](float a, float, float) { return -a; }},
      {Element::kAbs, "abs", 1, [](float a, float, float) { return std::fabs(a); }},
      {Element::kExp, "exp", 1, [](float a, float, float) { return ar::exp(a); }},
      {Element::kLog, "log", 1, [](float a, float, float) { return ar::log(a); }},
      {Element::kTanh, "tanh", 1, [](float a, float, float) { return ar::tanh(a); }},
      {Element::kErf, "erf", 1, [](float a, float, float) { return ar::erf(a); }},
      {Element::kSqrt, "sqrt", 1, [](float a, float, float) { return std::sqrt(a); }},
      {Element::kRelu, "relu", 1, [](float a, float, float) { return ar::maximum(a, 0.0f); }},
      {Element::kSigmoid, "sigmoid", 1, [](float a, float, float) { return ar::sigmoid(a); }},
      {Element::kNdtr, "ndtr", 1, [](float a, float, float) { return ar::ndtr(a); }},
      {Element::kGelu, "gelu", 1,
       [](float a, float, float) { return least_finite(a) * ar::ndtr(a); }},
      {Element::kGeluTanh, "gelu_tanh", 1,
       [](float a, float, float) {
         const float cubic = a * a * a * static_cast<float>(co::kGeluCubic);
         const float twice_u = (a + cubic) * static_cast<float>(co::kTwiceRootTwoOverPi);
         return least_finite(a) / (ar::exp(-twice_u) + 1.0f);
       }},
      {Element::kSilu, "silu", 1,
       [](float a, float, float) { return least_finite(a) / (ar::exp(-a) + 1.0f); }},
      {Element::kLog1p, "log1p", 1, [](float a, float, float) { return ar::log1p(a); }},
      {Element::kExpm1, "expm1", 1, [](float a, float, float) { return ar::expm1(a); }},
      {Element::kSin, "sin", 1, [](float a, float, float) { return ar::sin(a); }},
      {Element::kCos, "cos", 1, [](float a, float, float) { return ar::cos(a); }},
      {Element::kRsqrt, "rsqrt", 1, [](float a, float, float) { return 1.0f / std::sqrt(a); }},
      {Element::kFloor, "floor", 1, [](float a, float, float) { return std::floor(a); }},
      {Element::kCeil, "ceil", 1, [](float a, float, float) { return std::ceil(a); }},
      {Element::kRound, "round", 1, [](float a, float, float) { return std::nearbyint(a); }},
      {Element::kTruncate, "truncate", 1, [](float a, float, float) { return std::trunc(a); }},
      {Element::kSign, "sign", 1, [](float a, float, float) { return a > 0   ? 1
                                                                     : a < 0 ? -1
                                                                             : a; }},
      {Element::kAdd, "add", 2, [](float a, float b, float) { return a + b; }},
      {Element::kSubtract, "subtract", 2, [](float a, float b, float) { return a - b; }},
      {Element::kMultiply, "multiply", 2, [](float a, float b, float) { return a * b; }},
      {Element::kDivide, "divide", 2, [](float a, float b, float) { return a / b; }},
      {Element::kMaximum, "maximum", 2, [](float a, float b, float) { return ar::maximum(a, b); }},
      {Element::kMinimum, "minimum", 2, [](float a, float b, float) { return ar::minimum(a, b); }},
      {Element::kPower, "power", 2, [](float a, float b, float) { return ar::power(a, b); }},
      {Element::kGeluGradient, "gelu_gradient", 2,
       [](float x, float g, float) {
         const float near = ar::maximum(ar::minimum(x, 1000.0f), -1000.0f);
         const float density =
             ar::exp(near * near * -0.5f) * static_cast<float>(co::kOneOverRootTwoPi);
         return g * (ar::ndtr(x) + near * density);
       }},
      {Element::kEqual, "equal", 2, [](float a, float b, float) { return as_mask(a == b); }},
      {Element::kNotEqual, "not_equal", 2, [](float a, float b, float) { return as_mask(a != b); }},
      {Element::kLess, "less", 2, [](float a, float b, float) { return as_mask(a < b); }},
      {Element::kLessEqual, "less_equal", 2,
       [](float a, float b, float) { return as_mask(a <= b); }},
      {Element::kEqualI32, "equal_i32", 2,
       [](float a, float b, float) { return as_mask(bits(a) == bits(b)); }},
      {Element::kNotEqualI32, "not_equal_i32", 2,
       [](float a, float b, float) { return as_mask(bits(a) != bits(b)); }},
      {Element::kLessI32, "less_i32", 2,
       [](float a, float b, float) { return as_mask(as_int(a) < as_int(b)); }},
      {Element::kLessEqualI32, "less_equal_i32", 2,
       [](float a, float b, float) { return as_mask(as_int(a) <= as_int(b)); }},
      {Element::kNegateI32, "negate_i32", 1,
       [](float a, float, float) { return from_bits(0u - bits(a)); }},
      {Element::kAbsI32, "abs_i32", 1,
       [](float a, float, float) { return as_int(a) < 0 ? from_bits(0u - bits(a)) : a; }},
      {Element::kAddI32, "add_i32", 2,
       [](float a, float b, float) { return from_bits(bits(a) + bits(b)); }},
      {Element::kSubtractI32, "subtract_i32", 2,
       [](float a, float b, float) { return from_bits(bits(a) - bits(b)); }},
      {Element::kMultiplyI32, "multiply_i32", 2,
       [](float a, float b, float) { return from_bits(bits(a) * bits(b)); }},
      {Element::kMaximumI32, "maximum_i32", 2,
       [](float a, float b, float) { return as_int(a) < as_int(b) ? b : a; }},
      {Element::kMinimumI32, "minimum_i32", 2,
       [](float a, float b, float) { return as_int(b) < as_int(a) ? b : a; }},
      {Element::kShiftRightI32, "shift_right_i32", 2,
       [](float a, float b, float) { return shifted(a, b); }},
      {Element::kI32ToF32, "i32_to_f32", 1,
       [](float a, float, float) { return static_cast<float>(as_int(a)); }},
      {Element::kMaskToF32, "mask_to_f32", 1,
       [](float a, float, float) { return bits(a) != 0 ? 1.0f : 0.0f; }},
      {Element::kSelect, "select", 3,
       [](float a, float b, float c) { return bits(a) != 0 ? b : c; }},
  };
  return all;
}

// Operand `which` of a function in lane i. Masks must be valid masks; counts are mostly small.
float operand(const ElementCase& c, int which, std::uint64_t i) {
  const auto& special = special_values();
  const std::uint32_t word = Key(static_cast<std::uint64_t>(which)).word(i);
  if (c.element == Element::kMaskToF32 || (c.element == Element::kSelect && which == 0))
    return as_mask(word % 2 != 0);
  if (c.element == Element::kShiftRightI32 && which == 1)
    return std::bit_cast<float>(static_cast<std::int32_t>(word % 40) - 4 + (word % 7 == 0) * 1024);
  if (c.element == Element::kEqualI32 || c.element == Element::kNotEqualI32 ||
      c.element == Element::kLessEqualI32)
    return from_bits(word % 3);
  switch (word % 4) {
    case 0:
      return special[(word >> 8) % special.size()];
    case 1:
      return from_bits(Key(77).word(i + static_cast<std::uint64_t>(which) * 1000003));
    default:
      return 12.0f * value(static_cast<std::uint64_t>(which) + 5, i);
  }
}

class ElementTest : public OnEveryIsa {};

TEST(Element, TheTableOfThisTestIsComplete) {
  ASSERT_EQ(element_cases().size(), kElementCount);
  for (std::size_t i = 0; i < kElementCount; ++i)
    EXPECT_EQ(static_cast<std::size_t>(element_cases()[i].element), i) << element_cases()[i].name;
}

TEST_P(ElementTest, EveryLengthAndMisalignment) {
  std::uint64_t seen = 0;
  for (const ElementCase& c : element_cases()) {
    for (std::size_t n = 0; n <= 35; ++n) {
      for (std::size_t offset = 0; offset < 4; ++offset) {
        Guarded in[3] = {{n, offset}, {n, (offset + 1) % 4}, {n, (offset + 2) % 4}};
        Guarded out(n, (offset + 3) % 4);
        std::vector<float> want(n);
        for (std::size_t i = 0; i < n; ++i, ++seen) {
          for (int w = 0; w < 3; ++w) in[w][i] = operand(c, w, seen);
          want[i] = c.reference(in[0][i], in[1][i], in[2][i]);
        }
        k().element[static_cast<std::size_t>(c.element)](out.data(), in[0].data(), in[1].data(),
                                                         in[2].data(), n);
        ASSERT_TRUE(same_values(out.data(), want.data(), n)) << c.name << " offset " << offset;
        ASSERT_TRUE(out.guards_intact()) << c.name << " n " << n << " offset " << offset;
      }
    }
  }
}

TEST_P(ElementTest, InPlaceOfEachOperand) {
  const std::size_t n = 53;
  for (const ElementCase& c : element_cases()) {
    for (int which = 0; which < c.arity; ++which) {
      std::vector<float> in[3] = {std::vector<float>(n), std::vector<float>(n),
                                  std::vector<float>(n)};
      std::vector<float> want(n);
      for (std::size_t i = 0; i < n; ++i) {
        for (int w = 0; w < 3; ++w) in[w][i] = operand(c, w, i);
        want[i] = c.reference(in[0][i], in[1][i], in[2][i]);
      }
      k().element[static_cast<std::size_t>(c.element)](in[which].data(), in[0].data(), in[1].data(),
                                                       in[2].data(), n);
      EXPECT_TRUE(same_values(in[which].data(), want.data(), n)) << c.name << " over " << which;
    }
  }
}

// Enough lanes for streaming stores, against calls of a few lanes, which use none.
TEST_P(ElementTest, MoreThanTheCachesHold) {
  constexpr std::size_t kLanes = (std::size_t{4} << 20) + 37, kPart = 1021;
  const Floats a = values(1, kLanes), b = values(2, kLanes);
  std::vector<float> want(kLanes);
  for (const Element e : {Element::kRelu, Element::kSigmoid, Element::kAdd, Element::kLess,
                          Element::kAddI32, Element::kI32ToF32, Element::kSelect}) {
    const ElementFn f = k().element[static_cast<std::size_t>(e)];
    for (std::size_t i = 0; i < kLanes; i += kPart)
      f(&want[i], &a[i], &b[i], &a[i], std::min(kPart, kLanes - i));
    for (const std::size_t offset : {0, 3}) {
      Guarded out(kLanes, offset);
      f(out.data(), a.data(), b.data(), a.data(), kLanes);
      const char* const name = element_cases()[static_cast<std::size_t>(e)].name;
      ASSERT_TRUE(same_values(out.data(), want.data(), kLanes)) << name << " offset " << offset;
      ASSERT_TRUE(out.guards_intact()) << name << " offset " << offset;
    }
  }
}

// No vector of memory that begins within a lane can be aligned.
TEST_P(ElementTest, MoreThanTheCachesHoldBetweenTwoLanes) {
  constexpr std::size_t kLanes = (std::size_t{4} << 20) + 37;
  const Floats a = values(1, kLanes);
  const ElementFn negate = k().element[static_cast<std::size_t>(Element::kNegate)];
  std::vector<char> out(4 * kLanes + 1);
  negate(&out[1], a.data(), nullptr, nullptr, kLanes);
  std::vector<float> got(kLanes), want(kLanes);
  std::memcpy(got.data(), &out[1], 4 * kLanes);
  for (std::size_t i = 0; i < kLanes; ++i) want[i] = -a[i];
  EXPECT_TRUE(same_values(got.data(), want.data(), kLanes));
}

TEST_P(ElementTest, UnaryFunctionsOverTheRangeOfFloats) {
  constexpr std::size_t kChunk = 4096;
  std::vector<float> in(kChunk), got(kChunk), want(kChunk);
  // A prime, so that every exponent and both signs occur with varying mantissas.
  constexpr std::uint64_t kStep = 16411;
  for (const ElementCase& c : element_cases()) {
    if (c.arity != 1 || c.element == Element::kMaskToF32) continue;
    for (std::uint64_t first = 0; first < (1ull << 32); first += kChunk * kStep) {
      for (std::size_t i = 0; i < kChunk; ++i) {
        in[i] = from_bits(static_cast<std::uint32_t>(first + i * kStep));
        want[i] = c.reference(in[i], 0.0f, 0.0f);
      }
      k().element[static_cast<std::size_t>(c.element)](got.data(), in.data(), nullptr, nullptr,
                                                       kChunk);
      ASSERT_TRUE(same_values(got.data(), want.data(), kChunk)) << c.name;
    }
  }
}

TEST_P(ElementTest, EveryPairOfSpecialValues) {
  const auto& special = special_values();
  std::vector<float> a, b;
  for (const float x : special)
    for (const float y : special) {
      a.push_back(x);
      b.push_back(y);
    }
  std::vector<float> got(a.size()), want(a.size());
  for (const ElementCase& c : element_cases()) {
    if (c.arity != 2) continue;
    for (std::size_t i = 0; i < a.size(); ++i) want[i] = c.reference(a[i], b[i], 0.0f);
    k().element[static_cast<std::size_t>(c.element)](got.data(), a.data(), b.data(), nullptr,
                                                     a.size());
    EXPECT_TRUE(same_values(got.data(), want.data(), got.size())) << c.name;
  }
}

TEST_P(ElementTest, BooleansAndMasks) {
  for (std::size_t n = 0; n <= 70; ++n) {
    std::vector<std::uint8_t> in(n), back(n + 1, 0xA5);
    std::vector<std::uint32_t> masks(n + 1, 0x12345678);
    for (std::size_t i = 0; i < n; ++i) in[i] = Key(3).word(i) % 2;
    k().bool_to_mask(in.data(), n, masks.data());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(masks[i], in[i] != 0 ? 0xffffffffu : 0u);
    EXPECT_EQ(masks[n], 0x12345678u);
    k().mask_to_bool(masks.data(), n, back.data());
    EXPECT_EQ(back[n], 0xA5);
    back.resize(n);
    EXPECT_EQ(back, in);
  }
}

LIMPID_ON_EVERY_ISA(ElementTest);

}  // namespace
}  // namespace limpid::kernels
