// Functions of numbers, and their derivatives where the formulas are undefined or have a kink.
#include "limpid/ops/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"

namespace limpid {
namespace {

// The derivatives of the sum of f(x, y) by x and by y, in f64.
using SlopesByBoth = std::vector<std::vector<double>>;
SlopesByBoth slopes_by_both(const std::function<Value(Value, Value)>& function,
                            const std::vector<double>& x, const std::vector<double>& y) {
  const Type type{Dtype::kF64, {static_cast<std::int64_t>(x.size())}};
  const Function f = trace("f", {{"x", type}, {"y", type}}, [&](std::span<const Value> in) {
    return std::vector<Value>{sum(function(in[0], in[1]))};
  });
  const std::vector<Tensor> in{Tensor::from(type.shape, x), Tensor::from(type.shape, y)};
  SlopesByBoth result;
  for (const Tensor& t : interpret(grad(f, {0, 1}), in))
    result.emplace_back(t.values<double>().begin(), t.values<double>().end());
  return result;
}
SlopesByBoth slopes_of_power(const std::vector<double>& x, const std::vector<double>& y) {
  return slopes_by_both([](Value a, Value b) { return power(a, b); }, x, y);
}

TEST(Maximum, EqualOperandsShareTheSlope) {
  EXPECT_EQ(slopes_by_both([](Value a, Value b) { return maximum(a, b); }, {1, 3, 2, -0.0},
                           {2, 1, 2, 0.0}),
            (SlopesByBoth{{0, 1, 0.5, 0.5}, {1, 0, 0.5, 0.5}}));
  EXPECT_EQ(slopes_by_both([](Value a, Value b) { return minimum(a, b); }, {1, 3, 2, -0.0},
                           {2, 1, 2, 0.0}),
            (SlopesByBoth{{1, 0, 0.5, 0.5}, {0, 1, 0.5, 0.5}}));
}

TEST(Abs, IsLevelAtZero) {
  EXPECT_EQ(
      slopes_by_both([](Value a, Value) { return abs(a); }, {-2, -0.0, 0, 2}, {0, 0, 0, 0})[0],
      (std::vector<double>{-1, 0, 0, 1}));
}

TEST(Comparisons, OfBooleansAndOfIntegersOfTwoDtypes) {
  const auto of = [](Value (*compare)(Value, Value), const Tensor& a, const Tensor& b) {
    const Function f =
        trace("f", {{"a", a.type()}, {"b", b.type()}},
              [&](std::span<const Value> in) { return std::vector<Value>{compare(in[0], in[1])}; });
    return interpret(f, std::vector<Tensor>{a, b})[0];
  };
  const auto truth = [](const Tensor& t) {
    const auto values = t.values<bool>();
    return std::vector<bool>(values.begin(), values.end());
  };
  const Tensor a = Tensor::from<bool>({4}, {false, false, true, true});
  const Tensor b = Tensor::from<bool>({4}, {false, true, false, true});
  EXPECT_EQ(truth(of(equal, a, b)), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(truth(of(not_equal, a, b)), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(truth(of(less, a, b)), (std::vector<bool>{false, true, false, false}));
  const Tensor narrow = Tensor::from<std::int32_t>({3}, {0, -1, 7});
  const Tensor wide = Tensor::from<std::int64_t>({3}, {std::int64_t{1} << 32, -1, 8});
  EXPECT_EQ(truth(of(equal, narrow, wide)), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(truth(of(less, narrow, wide)), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(truth(of(less_equal, wide, narrow)), (std::vector<bool>{false, true, false}));
  // Real numbers of two dtypes are not, nor is a boolean with a number.
  const Tensor real = Tensor::from<float>({3}, {0, 1, 2}),
               longer = Tensor::zeros({Dtype::kF64, {3}});
  const Tensor three = Tensor::from<bool>({3}, {true, false, true});
  for (const auto& [x, y] : {std::pair{real, longer},
                             {longer, real},
                             {real, narrow},
                             {narrow, real},
                             {three, narrow},
                             {narrow, three}})
    EXPECT_THROW(of(equal, x, y), Error) << to_string(x.type()) << " and " << to_string(y.type());
}

TEST(Comparisons, OfNumbersOnEitherSide) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [](std::span<const Value> in) {
    const Value& x = in[0];
    return std::vector<Value>{x == number_like(x, 2), x != number_like(x, 2), equal(x, 2.0),
                              not_equal(x, 2.0),      less(x, 2.0),           less_equal(x, 2.0)};
  });
  const std::vector<Tensor> y = interpret(f, std::vector{Tensor::from<float>({3}, {1, 2, 3})});
  const bool expected[][3] = {{false, true, false}, {true, false, true},  {false, true, false},
                              {true, false, true},  {true, false, false}, {true, true, false}};
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_TRUE(y[i].same_bits(Tensor::from<bool>({3}, std::span<const bool>(expected[i])))) << i;
}

TEST(Remainder, SlopeByTheDivisorIsTheTruncatedQuotient) {
  EXPECT_EQ(
      slopes_by_both([](Value a, Value b) { return fmod(a, b); }, {5, -5, 5, -5}, {2, 2, -2, -2}),
      (SlopesByBoth{{1, 1, 1, 1}, {-2, 2, 2, -2}}));
}

TEST(Remainder, OfTheSignOfTheDivisorHasTheSlopeOfTheFloor) {
  EXPECT_EQ(slopes_by_both([](Value a, Value b) { return remainder(a, b); }, {5, -5, 5, -5},
                           {2, 2, -2, -2}),
            (SlopesByBoth{{1, 1, 1, 1}, {-2, 3, 3, -2}}));
}

TEST(Power, HasSlopesAtZeroAndBelow) {
  const auto by = slopes_of_power({0, 0, 0, -2, 2, -2}, {2, 0, 1, 3, 0, 0});
  EXPECT_EQ(by[0], (std::vector<double>{0, 0, 1, 12, 0, 0}));
  EXPECT_EQ(by[1], (std::vector<double>{0, 0, 0, 0, std::log(2.0), 0}));
}

TEST(Power, OfANanHasNoSlopes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto by = slopes_of_power({nan, 2}, {2, nan});
  for (const std::vector<double>& slope : by)
    for (double s : slope) EXPECT_TRUE(std::isnan(s)) << s;
}

TEST(Power, StretchesItsOperands) {
  const Function f =
      trace("f", {{"x", {Dtype::kF32, {2, 1}}}, {"y", {Dtype::kF32, {3}}}},
            [](std::span<const Value> in) { return std::vector<Value>{power(in[0], in[1])}; });
  const std::vector<Tensor> in{Tensor::from<float>({2, 1}, {2, 3}),
                               Tensor::from<float>({3}, {1, 2, -1})};
  EXPECT_TRUE(interpret(f, in)[0].same_bits(
      Tensor::from<float>({2, 3}, {2, 4, 0.5f, 3, 9, static_cast<float>(1.0 / 3)})));
}

// The left operand of 8, the right one of 2; of group and group, group and Value, group and number.
TEST(Groups, AreComputedWithNameByName) {
  using Of = std::function<Args(const Args&, Value, const Args&, Value)>;
  const std::pair<std::vector<Of>, float> cases[] = {
      {{[](auto& a, auto, auto& b, auto) { return a + b; },
        [](auto& a, auto, auto&, auto y) { return a + y; },
        [](auto&, auto x, auto& b, auto) { return x + b; },
        [](auto& a, auto, auto&, auto) { return a + 2.0; },
        [](auto&, auto, auto& b, auto) { return 8.0 + b; }},
       10},
      {{[](auto& a, auto, auto& b, auto) { return a - b; },
        [](auto& a, auto, auto&, auto y) { return a - y; },
        [](auto&, auto x, auto& b, auto) { return x - b; },
        [](auto& a, auto, auto&, auto) { return a - 2.0; },
        [](auto&, auto, auto& b, auto) { return 8.0 - b; }},
       6},
      {{[](auto& a, auto, auto& b, auto) { return a * b; },
        [](auto& a, auto, auto&, auto y) { return a * y; },
        [](auto&, auto x, auto& b, auto) { return x * b; },
        [](auto& a, auto, auto&, auto) { return a * 2.0; },
        [](auto&, auto, auto& b, auto) { return 8.0 * b; }},
       16},
      {{[](auto& a, auto, auto& b, auto) { return a / b; },
        [](auto& a, auto, auto&, auto y) { return a / y; },
        [](auto&, auto x, auto& b, auto) { return x / b; },
        [](auto& a, auto, auto&, auto) { return a / 2.0; },
        [](auto&, auto, auto& b, auto) { return 8.0 / b; }},
       4},
      {{[](auto& a, auto, auto&, auto) { return -a; }}, -8},
  };
  const Type type{Dtype::kF32, {1}};
  for (const auto& [all, expected] : cases)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Function f = trace("f", {{"x", type}, {"y", type}}, [&](std::span<const Value> in) {
        return std::vector<Value>{
            all[i](Args{{"p", in[0]}}, in[0], Args{{"p", in[1]}}, in[1]).at("p")};
      });
      const std::vector<Tensor> in{Tensor::from<float>({1}, {8}), Tensor::from<float>({1}, {2})};
      EXPECT_TRUE(interpret(f, in)[0].same_bits(Tensor::from<float>({1}, {expected})))
          << expected << ", case " << i;
    }
}

TEST(ShiftRight, LeavesNothingFrom32PlacesOn) {
  const Type type{Dtype::kI32, {6}};
  const Function f = trace("f", {{"x", type}, {"count", type}}, [](std::span<const Value> in) {
    return std::vector<Value>{shift_right(in[0], in[1])};
  });
  const std::vector<Tensor> in{Tensor::from<std::int32_t>({6}, {-1, -1, -1, -1, -1, -1}),
                               Tensor::from<std::int32_t>({6}, {-1, 0, 1, 30, 31, 32})};
  EXPECT_TRUE(
      interpret(f, in)[0].same_bits(Tensor::from<std::int32_t>({6}, {0, -1, 2147483647, 3, 1, 0})));
}

// Each of several keys has a child of its own.
TEST(FoldIn, TakesOneNumberForAllKeys) {
  const Function f = trace("f", {{"keys", {Dtype::kI64, {3}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{fold_in(in[0], -5)};
  });
  const Tensor keys = Tensor::from<std::int64_t>({3}, {0, 1, -7});
  const Tensor children = interpret(f, std::vector<Tensor>{keys})[0];
  for (std::size_t i = 0; i < 3; ++i) {
    const Key key(static_cast<std::uint64_t>(keys.values<std::int64_t>()[i]));
    EXPECT_EQ(static_cast<std::uint64_t>(children.values<std::int64_t>()[i]),
              key.fold_in(static_cast<std::uint64_t>(-5)).bits());
  }
}

TEST(Round, TakesTheEvenOneOfTwo) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64}) {
    const Function f = trace("f", {{"x", {Dtype::kF64, {6}}}}, [&](std::span<const Value> in) {
      return std::vector<Value>{cast(round(cast(in[0], dtype)), Dtype::kF64)};
    });
    const Tensor x = Tensor::from<double>({6}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5});
    EXPECT_TRUE(interpret(f, std::vector<Tensor>{x})[0].same_bits(
        Tensor::from<double>({6}, {-2, -2, -0.0, 0, 2, 2})));
  }
}

TEST(Log1p, AndExpm1KeepTheDigitsOfSmallNumbers) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{log1p(in[0]), expm1(in[0]), log(in[0] + 1.0), exp(in[0]) - 1.0};
  });
  const Tensor x = Tensor::from<float>({3}, {1e-9f, -3e-20f, 1e-40f});
  const std::vector<Tensor> y = interpret(f, std::vector<Tensor>{x});
  EXPECT_TRUE(y[0].same_bits(x));
  EXPECT_TRUE(y[1].same_bits(x));
  for (const std::size_t naive : {2, 3})
    for (const float v : y[naive].values<float>()) EXPECT_EQ(v, 0);
}

// Each of the three may be the one that is stretched.
TEST(Select, StretchesItsOperands) {
  const Type row{Dtype::kF32, {3}}, column{Dtype::kF32, {2, 1}};
  const Function f =
      trace("f", {{"mask", {Dtype::kBool, {3}}}, {"row", row}, {"column", column}},
            [](std::span<const Value> in) {
              return std::vector<Value>{select(in[0], in[1], in[2]), select(in[0], in[2], in[1]),
                                        logical_or(in[0], in[2] < in[1])};
            });
  const std::vector<Tensor> in{Tensor::from<bool>({3}, {true, false, false}),
                               Tensor::from<float>({3}, {1, 2, 3}),
                               Tensor::from<float>({2, 1}, {2, 5})};
  const std::vector<Tensor> y = interpret(f, in);
  EXPECT_TRUE(y[0].same_bits(Tensor::from<float>({2, 3}, {1, 2, 2, 1, 5, 5})));
  EXPECT_TRUE(y[1].same_bits(Tensor::from<float>({2, 3}, {2, 2, 3, 5, 2, 3})));
  EXPECT_TRUE(y[2].same_bits(Tensor::from<bool>({2, 3}, {true, false, true, true, false, false})));
}

}  // namespace
}  // namespace limpid
