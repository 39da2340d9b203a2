// Integers at the ends of their ranges, divided by zero, and converted: what the laws do not try.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/core/half.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"

namespace limpid::laws {
namespace {

// The results of an op for each pair of elements, interpreted, and the same compiled.
template <class To, class From>
std::vector<To> results(const std::function<Value(Value, Value)>& op, const std::vector<From>& a,
                        const std::vector<From>& b) {
  const Type type{dtype_of<From>, Shape{static_cast<std::int64_t>(a.size())}};
  Builder builder("pairs");
  const Value x = builder.input("a", type), y = builder.input("b", type);
  const Function f = builder.finish(std::vector<Value>{op(x, y)});
  const std::vector<Tensor> in{Tensor::from(type.shape, a), Tensor::from(type.shape, b)};
  const Tensor result = interpret(f, in)[0];
  EXPECT_TRUE(compile(f)(in)[0].same_bits(result));
  return {result.values<To>().begin(), result.values<To>().end()};
}

template <class T>
class Integers : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(Integers, Types);

TYPED_TEST(Integers, WrapAround) {
  using T = TypeParam;
  constexpr T kLowest = std::numeric_limits<T>::min(), kHighest = std::numeric_limits<T>::max();
  using V = std::vector<T>;
  EXPECT_EQ((results<T, T>(add, {kHighest, 3}, {1, 4})), (V{kLowest, 7}));
  EXPECT_EQ((results<T, T>(subtract, {kLowest, 9}, {1, 4})), (V{kHighest, 5}));
  EXPECT_EQ((results<T, T>(multiply, {kHighest, 3}, {2, 4})), (V{static_cast<T>(-2), 12}));
  const auto negated = [](const Value& a, const Value&) { return -a; };
  EXPECT_EQ((results<T, T>(negated, {kLowest, 1, 0}, {0, 0, 0})),
            (V{kLowest, static_cast<T>(-1), 0}));
}

// The form that takes two Values, of functions that take a number, too.
using Binary = Value (*)(Value, Value);

TYPED_TEST(Integers, AreDividedTowardZero) {
  using T = TypeParam;
  constexpr T kLowest = std::numeric_limits<T>::min();
  using V = std::vector<T>;
  EXPECT_EQ((results<T, T>(Binary{divide}, {7, 8, 9, 5, 0}, {2, 2, 0, 100, 3})),
            (V{3, 4, 0, 0, 0}));
  EXPECT_EQ((results<T, T>(Binary{fmod}, {7, 8, 9, 5, 0}, {2, 2, 0, 100, 3})), (V{1, 0, 9, 5, 0}));
  if (kLowest == 0) return;
  const T m1 = static_cast<T>(-1), m2 = static_cast<T>(-2), m7 = static_cast<T>(-7);
  EXPECT_EQ((results<T, T>(Binary{divide}, {m7, 7, m7, kLowest}, {2, m2, m2, m1})),
            (V{static_cast<T>(-3), static_cast<T>(-3), 3, kLowest}));
  EXPECT_EQ((results<T, T>(Binary{fmod}, {m7, 7, m7, kLowest}, {2, m2, m2, m1})),
            (V{m1, 1, m1, 0}));
}

TYPED_TEST(Integers, AreCompared) {
  using T = TypeParam;
  constexpr T kLowest = std::numeric_limits<T>::min(), kHighest = std::numeric_limits<T>::max();
  using V = std::vector<T>;
  EXPECT_EQ((results<T, T>(Binary{maximum}, {kLowest, 3}, {kHighest, 2})), (V{kHighest, 3}));
  EXPECT_EQ((results<T, T>(Binary{minimum}, {kLowest, 3}, {kHighest, 2})), (V{kLowest, 2}));
  using B = std::vector<bool>;
  EXPECT_EQ((results<bool, T>(Binary{less}, {kLowest, 3, 4}, {kHighest, 3, 3})),
            (B{true, false, false}));
  EXPECT_EQ((results<bool, T>(Binary{less_equal}, {kLowest, 3, 4}, {kHighest, 3, 3})),
            (B{true, true, false}));
  EXPECT_EQ((results<bool, T>(Binary{equal}, {kLowest, 3, 4}, {kHighest, 3, 3})),
            (B{false, true, false}));
  EXPECT_EQ((results<bool, T>(Binary{not_equal}, {kLowest, 3, 4}, {kHighest, 3, 3})),
            (B{true, false, true}));
}

// The bits of these numbers are no floats that would be added or compared alike, as those of small
// numbers are.
template <class T>
void reduce_to_the_ends() {
  constexpr T kLowest = std::numeric_limits<T>::min(), kHighest = std::numeric_limits<T>::max();
  using V = std::vector<T>;
  const auto reduced = [](const auto& op, const V& numbers) {
    return results<T, T>([&](const Value& a, const Value&) { return op(a); }, numbers, numbers);
  };
  const auto sum_of_rows = [](const Value& a) {
    const Value rows = constant(a.builder(), Tensor::from<std::int32_t>({3}, {0, 1, 0}));
    return scatter_add(rows, a, 2);
  };
  const V large{kHighest, 1, 5};
  const std::uint64_t sum_of_large = static_cast<std::uint64_t>(kHighest) + 6;  // in i64
  EXPECT_EQ((results<std::int64_t, T>([](const Value& a, const Value&) { return sum(a, 0); }, large,
                                      large)),
            (std::vector<std::int64_t>{static_cast<std::int64_t>(sum_of_large)}));
  EXPECT_EQ(reduced([](const Value& a) { return max(a, 0); }, {kLowest, 3, kHighest}),
            (V{kHighest}));
  EXPECT_EQ(reduced([](const Value& a) { return min(a, 0); }, {kHighest, 3, kLowest}),
            (V{kLowest}));
  EXPECT_EQ(reduced(sum_of_rows, {kHighest, 7, 1}), (V{kLowest, 7}));
  // Neither a maximum nor a minimum begins with a number that is not among its elements.
  EXPECT_EQ(reduced([](const Value& a) { return max(a, 0); }, {kLowest, -7}), (V{-7}));
  EXPECT_EQ(reduced([](const Value& a) { return max(a, 0); }, {kLowest}), (V{kLowest}));
  EXPECT_EQ(reduced([](const Value& a) { return min(a, 0); }, {kHighest, 7}), (V{7}));
  EXPECT_EQ(reduced([](const Value& a) { return min(a, 0); }, {kHighest}), (V{kHighest}));
}

TEST(Reductions, OfIntegersAreThoseOfIntegers) {
  reduce_to_the_ends<std::int32_t>();
  reduce_to_the_ends<std::int64_t>();
}

TEST(Abs, OfIntegers) {
  const auto absolute = [](const Value& a, const Value&) { return abs(a); };
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ((results<std::int32_t, std::int32_t>(absolute, {-5, 5, kLowest}, {0, 0, 0})),
            (std::vector<std::int32_t>{5, 5, kLowest}));
}

TEST(Remainder, OfRealNumbersIsExact) {
  EXPECT_EQ((results<float, float>(Binary{fmod}, {5.5f, -5.5f, 1e30f, 5.0f, -6.0f},
                                   {2.0f, 2.0f, 3.0f, -3.0f, 3.0f})),
            (std::vector<float>{1.5f, -1.5f, std::fmod(1e30f, 3.0f), 2.0f, -0.0f}));
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  return results<To, From>([](const Value& a, const Value&) { return cast(a, dtype_of<To>); }, from,
                           from);
}

TEST(Cast, SaturatesFromRealNumbersToIntegers) {
  const std::vector<float> from{-1.9f, 1.9f, 300.0f, -3e9f, 3e9f, 1e30f, std::nanf("")};
  EXPECT_EQ((converted<std::uint8_t>(from)),
            (std::vector<std::uint8_t>{0, 1, 255, 0, 255, 255, 0}));
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ((converted<std::int32_t>(from)),
            (std::vector<std::int32_t>{-1, 1, 300, kLowest, kHighest, kHighest, 0}));
  constexpr std::int64_t kLowest64 = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest64 = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((converted<std::int64_t, float>({0x1p62f, 0x1p63f, -0x1p63f, -0x1p64f})),
            (std::vector<std::int64_t>{std::int64_t{1} << 62, kHighest64, kLowest64, kLowest64}));
  EXPECT_EQ((converted<bool>(from)), (std::vector<bool>(7, true)));
}

TEST(Cast, SaturatesToSignedBytes) {
  EXPECT_EQ((converted<std::int8_t>(
                std::vector<float>{-1.9f, 1.9f, 127.5f, -300.0f, 1e30f, std::nanf("")})),
            (std::vector<std::int8_t>{-1, 1, 127, -128, 127, 0}));
}

TEST(Cast, KeepsTheLowBitsBetweenIntegers) {
  EXPECT_EQ((converted<std::uint8_t>(std::vector<std::int32_t>{-1, 256, 511})),
            (std::vector<std::uint8_t>{255, 0, 255}));
  EXPECT_EQ((converted<std::int8_t>(std::vector<std::int32_t>{-1, 128, 511})),
            (std::vector<std::int8_t>{-1, -128, -1}));
}

// 2^n + 2^(n - 8) is a tie in bf16, which one more decides; a double does not hold that one.
TEST(Cast, RoundsLargeIntegersOnce) {
  for (const int n : {53, 60}) {
    const std::int64_t tie = (std::int64_t{1} << n) + (std::int64_t{1} << (n - 8));
    const std::vector<std::int64_t> from{tie - 1, tie, tie + 1, -tie - 1, -tie + 1};
    std::vector<float> got;
    for (const Bf16 x : converted<Bf16>(from)) got.push_back(to_f32(x));
    const float down = std::ldexp(1.0f, n), up = std::ldexp(0x1.02p0f, n);
    EXPECT_EQ(got, (std::vector<float>{down, down, up, -up, -down})) << n;
  }
}

// A number that is stored in 16 bits: the cotangent is rounded as the number was.
TEST(Cast, HasAGradientThroughStorage) {
  const Function loss = trace("stored", {{"x", {Dtype::kF32, {3}}}}, [](std::span<const Value> in) {
    const Value stored = cast(cast(in[0], Dtype::kBf16), Dtype::kF32);
    return std::vector<Value>{sum(stored * stored)};
  });
  const std::vector<Tensor> in{Tensor::from<float>({3}, {1.0f, 0x1.018p0f, -3.0f})};
  const Tensor gradient = interpret(grad(loss, {0}), in)[0];
  EXPECT_EQ(gradient.values<float>()[0], 2.0f);
  EXPECT_EQ(gradient.values<float>()[1], 2 * 0x1.02p0f);
  EXPECT_EQ(gradient.values<float>()[2], -6.0f);
}

}  // namespace
}  // namespace limpid::laws
