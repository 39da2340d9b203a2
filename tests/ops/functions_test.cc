// Functions made of ops, that users of NumPy and JAX look for, in C++: indices, rearrangements,
// einsum, remainders, norms, draws. tests/python/numpy_test.py compares them with NumPy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/core/key.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/vmap.h"
#include "tests/refusals.h"

namespace limpid::functions_test {
namespace {

using Values = std::vector<Value>;
using Code = std::function<Values(std::span<const Value>)>;

Function traced(const std::vector<Tensor>& in, const Code& code) {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < in.size(); ++i)
    inputs.push_back({"x" + std::to_string(i), in[i].type()});
  return trace("f", inputs, code);
}
// Interpreted; compiled code has the same bits.
std::vector<Tensor> run(const std::vector<Tensor>& in, const Code& code) {
  const Function f = traced(in, code);
  std::vector<Tensor> results = interpret(f, in);
  const std::vector<Tensor> again = compile(f)(in);
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_TRUE(results[i].same_bits(again[i])) << i;
  return results;
}
Tensor reals(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::from<double>(shape, values);
}
Tensor whole(const Shape& shape, std::initializer_list<std::int32_t> values) {
  return Tensor::from<std::int32_t>(shape, values);
}
Tensor counting(const Shape& shape) {
  return Tensor::generate<double>(shape, [](std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(i);
  });
}

TEST(At, ReadsNumbersRangesAndArrays) {
  const Tensor x = counting({3, 4});
  const auto read = [&](const Index& index) {
    return run({x}, [&](auto in) { return Values{at(in[0], index)}; })[0];
  };
  EXPECT_TRUE(read({std::int64_t{-1}}).same_bits(reals({4}, {8, 9, 10, 11})));
  EXPECT_TRUE(read({Whole{}, Range{3, 2, -2}}).same_bits(reals({3, 2}, {3, 1, 7, 5, 11, 9})));
  EXPECT_TRUE(read({NewAxis{}, std::int64_t{0}, Range{1, 1, 1}}).same_bits(reals({1, 1}, {1})));
  const Tensor rows = whole({2}, {0, -1}), columns = whole({2, 1}, {1, 2});
  const auto with = [&](const std::function<Index(std::span<const Value>)>& index) {
    return run({x, rows, columns},
               [&](std::span<const Value> in) { return Values{at(in[0], index(in))}; })[0];
  };
  EXPECT_TRUE(with([](auto in) {
                return Index{in[1], in[2]};
              }).same_bits(reals({2, 2}, {1, 9, 2, 10})));
  EXPECT_TRUE(with([](auto in) {
                return Index{Range{1, 2, 1}, in[1]};
              }).same_bits(reals({2, 2}, {4, 7, 8, 11})));
}

TEST(At, IsOutOfRangeAsNan) {
  const std::vector<Tensor> y = run({counting({2, 2}), whole({2}, {1, 2})}, [](auto in) {
    return Values{at(in[0], {in[1]}), at(cast(in[0], Dtype::kI32), {in[1]})};
  });
  const auto values = y[0].values<double>();
  EXPECT_TRUE(values[0] == 2 && values[1] == 3 && std::isnan(values[2]) && std::isnan(values[3]));
  EXPECT_TRUE(y[1].same_bits(whole({2, 2}, {2, 3, 0, 0})));
}

TEST(SetAt, CombinesUpdatesInTheirOrder) {
  const auto with = [](ScatterMode mode) {
    return run({reals({4}, {1, 2, 3, 4}), whole({4}, {0, -1, 0, 4})}, [&](auto in) {
      const Value updates = constant(in[0].builder(), reals({4}, {5, 6, 7, 100}));
      return Values{set_at(in[0], {in[1]}, updates, mode)};
    })[0];
  };
  EXPECT_TRUE(with(ScatterMode::kReplace).same_bits(reals({4}, {7, 2, 3, 6})));
  EXPECT_TRUE(with(ScatterMode::kAdd).same_bits(reals({4}, {13, 2, 3, 10})));
  EXPECT_TRUE(with(ScatterMode::kMultiply).same_bits(reals({4}, {35, 2, 3, 24})));
  EXPECT_TRUE(with(ScatterMode::kMaximum).same_bits(reals({4}, {7, 2, 3, 6})));
  EXPECT_TRUE(with(ScatterMode::kMinimum).same_bits(reals({4}, {1, 2, 3, 4})));
  EXPECT_TRUE(run({counting({2, 3})},
                  [](auto in) {
                    return Values{set_at(in[0], {Whole{}, Range{2, 2, -2}},
                                         constant(in[0].builder(), reals({2}, {10, 20})))};
                  })[0]
                  .same_bits(reals({2, 3}, {20, 1, 10, 20, 4, 10})));
}

TEST(SetAt, HasTheSlopesOfWhatStays) {
  const std::vector<Tensor> in{reals({3}, {1, 2, 3}), whole({2}, {2, 0}), reals({2}, {5, 7})};
  const Function f = traced(in, [](auto v) {
    const Value y = set_at(v[0], {v[1]}, v[2]);
    return Values{sum(y * y)};
  });
  const std::vector<Tensor> slopes = interpret(grad(f, {0, 2}), in);
  EXPECT_TRUE(slopes[0].same_bits(reals({3}, {0, 4, 0})));
  EXPECT_TRUE(slopes[1].same_bits(reals({2}, {10, 14})));
}

TEST(At, RefusesWhatIsNoIndex) {
  const Tensor x = counting({2, 3});
  const auto refused = [&](ErrorCode code, const std::function<Index(const Value&)>& index) {
    expect_refused(code,
                   [&] { traced({x}, [&](auto in) { return Values{at(in[0], index(in[0]))}; }); });
  };
  refused(ErrorCode::kShape, [](auto) { return Index{Whole{}, Whole{}, Whole{}}; });
  refused(ErrorCode::kShape, [](auto) { return Index{std::int64_t{2}}; });
  refused(ErrorCode::kShape, [](auto) { return Index{Range{1, 2, 1}}; });
  refused(ErrorCode::kDtype, [](const Value& v) { return Index{v}; });
}

TEST(Rearranged, AsNumPyHasIt) {
  const Tensor x = counting({2, 3});
  const auto with = [&](const std::function<Value(Value)>& f) {
    return run({x}, [&](auto in) { return Values{f(in[0])}; })[0];
  };
  EXPECT_TRUE(
      with([](auto v) { return roll(v, 4, -1); }).same_bits(reals({2, 3}, {2, 0, 1, 5, 3, 4})));
  EXPECT_TRUE(with([](auto v) {
                return repeat(v, 2, 0);
              }).same_bits(reals({4, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})));
  EXPECT_TRUE(with([](auto v) {
                return repeat(v, {1, 0, 2}, 1);
              }).same_bits(reals({2, 3}, {0, 2, 2, 3, 5, 5})));
  EXPECT_TRUE(with([](auto v) {
                return tile(v, {1, 2});
              }).same_bits(reals({2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})));
  EXPECT_TRUE(with([](auto v) { return tril(v); }).same_bits(reals({2, 3}, {0, 0, 0, 3, 4, 0})));
  EXPECT_TRUE(with([](auto v) { return triu(v, 1); }).same_bits(reals({2, 3}, {0, 1, 2, 0, 0, 5})));
  EXPECT_TRUE(with([](auto v) { return diff(v); }).same_bits(reals({2, 2}, {1, 1, 1, 1})));
  EXPECT_TRUE(with([](auto v) { return diagonal(v, 1); }).same_bits(reals({2}, {1, 5})));
  EXPECT_TRUE(with([](auto v) { return diagonal(v, -5); }).same_bits(reals({0}, {})));
  EXPECT_TRUE(
      with([](auto v) { return array_split(v, 2, 1)[1]; }).same_bits(reals({2, 1}, {2, 5})));
  EXPECT_TRUE(with([](auto v) {
                return split_at(v, {1, -1}, 1)[1];
              }).same_bits(reals({2, 1}, {1, 4})));
  EXPECT_TRUE(with([](auto v) {
                return cumulative_product(v + 1.0);
              }).same_bits(reals({2, 3}, {1, 2, 6, 4, 20, 120})));
  EXPECT_TRUE(with([](auto v) { return einsum("ij->j", {v}); }).same_bits(reals({3}, {3, 5, 7})));
  EXPECT_TRUE(with([](auto v) {
                return linspace(v.builder(), 1, 2, 5, true, Dtype::kF64);
              }).same_bits(reals({5}, {1, 1.25, 1.5, 1.75, 2})));
  EXPECT_TRUE(with([](auto v) {
                return eye(v.builder(), 2, 3, 1, Dtype::kF64);
              }).same_bits(reals({2, 3}, {0, 1, 0, 0, 0, 1})));
}

TEST(Einsum, RefusesWhatIsNoEquation) {
  for (const char* equation : {"ij,jk->ik", "i->i", "ij->k", "ij->ii", "i1->i", "ii->i"})
    expect_refused(
        std::string_view(equation) == "ii->i" ? ErrorCode::kShape : ErrorCode::kInvalidArgument,
        [&] {
          traced({counting({2, 3})}, [&](auto in) { return Values{einsum(equation, {in[0]})}; });
        });
  expect_refused(ErrorCode::kInvalidArgument, [&] { einsum("->", {}); });
}

TEST(Remainder, HasTheSignOfTheDivisor) {
  const std::vector<Tensor> in{reals({5}, {5, -5, 5, -5, 6}), reals({5}, {3, 3, -3, -3, -3})};
  EXPECT_TRUE(run(in, [](auto v) { return Values{remainder(v[0], v[1])}; })[0].same_bits(
      reals({5}, {2, 1, -1, -2, 0})));
  EXPECT_TRUE(run({whole({4}, {5, -5, 5, -5}), whole({4}, {3, 3, -3, 0})},
                  [](auto v) { return Values{remainder(v[0], v[1])}; })[0]
                  .same_bits(whole({4}, {2, 1, -1, -5})));
}

TEST(Norm, OfZeroHasNoSlope) {
  const Tensor x = reals({3, 2}, {3, -4, 0, 0, 1e-200, 1e-200});
  for (const double order : {2.0, 1.0, 3.0, std::numeric_limits<double>::infinity()}) {
    const Function f = traced(
        {x}, [&](auto v) { return Values{sum(norm(v[0], std::vector<std::int64_t>{1}, order))}; });
    const Tensor slope = interpret(grad(f), std::vector{x})[0];
    EXPECT_EQ(slope.values<double>()[2], 0);
    EXPECT_EQ(slope.values<double>()[3], 0);
  }
  const std::vector<Tensor> y = run({x}, [](auto v) {
    return Values{norm(v[0], std::vector<std::int64_t>{-1}), norm(v[0], {}, 2, true)};
  });
  EXPECT_EQ(y[0].values<double>()[0], 5);
  EXPECT_EQ(y[0].values<double>()[1], 0);
  EXPECT_NEAR(y[0].values<double>()[2] * 1e200, std::numbers::sqrt2, 1e-14);
  EXPECT_EQ(y[1].shape(), (Shape{1, 1}));
  for (const double order : {0.0, -1.0, std::nan("")})
    expect_refused(ErrorCode::kInvalidArgument,
                   [&] { traced({x}, [&](auto v) { return Values{norm(v[0], {}, order)}; }); });
}

TEST(Atan2, HasTheAnglesOfAllQuadrants) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double y : {0.0, -0.0, 1.0, -2.5, 1e-300, kInfinity, -kInfinity})
    for (const double x : {0.0, -0.0, 1.0, -3.5, -1e300, kInfinity, -kInfinity}) {
      const double got =
          run({reals({}, {y}), reals({}, {x})}, [](auto v) { return Values{atan2(v[0], v[1])}; })[0]
              .item<double>();
      EXPECT_NEAR(got, std::atan2(y, x), 1e-15) << y << " " << x;
      EXPECT_EQ(std::signbit(got), std::signbit(std::atan2(y, x))) << y << " " << x;
    }
}

TEST(BinaryCrossEntropy, OfProbabilities) {
  const std::vector<Tensor> in{reals({4}, {0.25, 0, 1, 2}), reals({4}, {1, 1, 1, 1})};
  const auto losses =
      run(in, [](auto v) { return Values{binary_cross_entropy(v[0], v[1], Reduction::kNone)}; })[0];
  const auto values = losses.values<double>();
  EXPECT_NEAR(values[0], -std::log(0.25), 1e-15);
  EXPECT_EQ(values[1], 100);
  EXPECT_EQ(values[2], 0);
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST(Draws, AreFunctionsOfTheKey) {
  const auto drawn = [](const std::function<Value(Value)>& f) {
    return run({key_tensor(Key{7})}, [&](auto in) { return Values{f(in[0])}; })[0];
  };
  const Tensor numbers = drawn([](Value k) { return randint(k, {4000}, -2, 3); });
  std::array<int, 5> counts{};
  for (const std::int32_t n : numbers.values<std::int32_t>())
    ++counts.at(static_cast<std::size_t>(n + 2));
  for (const int count : counts) EXPECT_NEAR(count, 800, 120);
  const Tensor order = drawn([](Value k) { return permutation(k, 100); });
  std::vector<std::int32_t> sorted(order.values<std::int32_t>().begin(),
                                   order.values<std::int32_t>().end());
  EXPECT_FALSE(std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    EXPECT_EQ(sorted[i], static_cast<std::int32_t>(i));
  const Tensor classes = drawn([](Value k) {
    const Value logits = log(constant(k.builder(), reals({3}, {0.5, 0, 0.5})));
    return categorical(k, logits, -1, Shape{1000});
  });
  int of_first = 0;
  for (const std::int32_t c : classes.values<std::int32_t>()) {
    EXPECT_NE(c, 1);
    of_first += c == 0;
  }
  EXPECT_NEAR(of_first, 500, 80);
  const Tensor once = drawn([](Value k) { return choice(k, 5, {5}, false); });
  EXPECT_EQ(once.shape(), Shape{5});
  const Tensor tail = drawn([](Value k) { return truncated_normal(k, 5, 6, {1000}); });
  double total = 0;
  for (const float t : tail.values<float>()) {
    EXPECT_TRUE(t >= 5 && t <= 6) << t;
    total += t;
  }
  EXPECT_NEAR(total / 1000, 5.18, 0.02);
}

TEST(Draws, OfABatchOfKeysAreThoseOfEach) {
  const std::vector<Tensor> keys{key_tensor(Key{1}), key_tensor(Key{2})};
  const Function f = trace("f", {{"key", {Dtype::kI64, {}}}}, [](std::span<const Value> in) {
    const Value logits = constant(in[0].builder(), reals({4}, {0, 1, 2, 3}));
    return Values{randint(in[0], {3}, 0, 1000), permutation(in[0], 9),
                  categorical(in[0], logits, -1, Shape{5}),
                  choice(in[0], 4, {2}, false, exp(logits))};
  });
  const Tensor both =
      Tensor::from<std::int64_t>({2}, {keys[0].item<std::int64_t>(), keys[1].item<std::int64_t>()});
  const std::vector<Tensor> batch = interpret(vmap(f, {0}, 2), std::vector{both});
  for (std::size_t k = 0; k < 2; ++k) {
    const std::vector<Tensor> one = interpret(f, std::vector{keys[k]});
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(
          batch[i].rows(static_cast<std::int64_t>(k), 1).reshape(one[i].shape()).same_bits(one[i]));
  }
}

TEST(Draws, RefuseWhatHasNoMeaning) {
  const auto refused = [](ErrorCode code, const std::function<Value(Value)>& f) {
    expect_refused(
        code, [&] { traced({key_tensor(Key{0})}, [&](auto in) { return Values{f(in[0])}; }); });
  };
  constexpr ErrorCode kArgument = ErrorCode::kInvalidArgument;
  refused(kArgument, [](Value k) { return randint(k, {2}, 3, 3); });
  refused(kArgument, [](Value k) { return randint(k, {2}, 0, std::int64_t{1} << 40); });
  refused(ErrorCode::kDtype, [](Value k) { return randint(k, {2}, 0, 3, Dtype::kU8); });
  refused(kArgument, [](Value k) { return choice(k, 3, {4}, false); });
  refused(kArgument, [](Value k) { return choice(k, 0, {4}); });
  refused(kArgument, [](Value k) { return truncated_normal(k, 2, 1, {4}); });
  refused(kArgument, [](Value k) { return truncated_normal(k, 7, 8, {4}); });
  refused(ErrorCode::kDtype, [](Value k) { return gumbel(cast(k, Dtype::kI32), {4}); });
  refused(ErrorCode::kShape, [](Value k) { return gumbel(broadcast(k, {2}), {4}); });
  refused(ErrorCode::kShape, [](Value k) {
    return categorical(k, constant(k.builder(), reals({2, 3}, {1, 2, 3, 4, 5, 6})), -1, Shape{3});
  });
}

}  // namespace
}  // namespace limpid::functions_test
