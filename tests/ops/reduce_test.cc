// Functions made of reductions.
#include "limpid/ops/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"

namespace limpid {
namespace {

using Over = Value (*)(Value, std::int64_t);

std::vector<float> elements(const Tensor& t) {
  return {t.values<float>().begin(), t.values<float>().end()};
}

Tensor of(Over reduction, const Tensor& x, std::int64_t axis) {
  const Function f = trace("f", {{"x", x.type()}}, [&](std::span<const Value> in) {
    return std::vector<Value>{reduction(in[0], axis)};
  });
  return interpret(f, std::vector<Tensor>{x})[0];
}

const Tensor& matrix() {
  static const Tensor x = Tensor::from<double>({2, 3}, {1, 2, 6, -1, 0, -2});
  return x;
}

TEST(Reduce, MeanAndVarianceOverAnAxis) {
  EXPECT_TRUE(of(mean, matrix(), 1).same_bits(Tensor::from<double>({2}, {3, -1})));
  EXPECT_TRUE(of(mean, matrix(), 0).same_bits(Tensor::from<double>({3}, {0, 1, 2})));
  EXPECT_TRUE(of(variance, matrix(), -2).same_bits(Tensor::from<double>({3}, {1, 1, 16})));
}

TEST(Reduce, AQuotientOfIntegersIsNone) {
  const Tensor whole = Tensor::from<std::int32_t>({3}, {5, 2, 4});
  for (const auto f : {Over{mean}, Over{variance}, Over{standard_deviation}}) try {
      of(f, whole, 0);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kDtype);
    }
  // Of bool the share of true.
  const bool some[] = {true, false, true, true};
  EXPECT_EQ(of(mean, Tensor::from<bool>({4}, some), 0).item<float>(), 0.75f);
  EXPECT_EQ(of(variance, Tensor::from<bool>({4}, some), 0).item<float>(), 0.1875f);
}

TEST(Reduce, IntegersAndBooleansAreAddedInI64) {
  const auto expect = [](const Tensor& x, std::int64_t total) {
    const std::vector<Tensor> in{x};
    const Function f = trace("f", {{"x", x.type()}}, [](std::span<const Value> v) {
      return std::vector<Value>{sum(v[0], 0), sum(v[0]), cumulative_sum(v[0], 0)};
    });
    for (const std::vector<Tensor>& y : {interpret(f, in), compile(f)(in)}) {
      EXPECT_EQ(y[0].item<std::int64_t>(), total);
      EXPECT_EQ(y[1].item<std::int64_t>(), total);
      EXPECT_EQ(y[2].values<std::int64_t>().back(), total);
    }
  };
  expect(Tensor::from<std::int32_t>({3}, {2147483647, 2147483647, 5}), 4294967299);
  expect(Tensor::from<std::int8_t>({3}, {127, 127, -1}), 253);
  expect(Tensor::from<std::uint8_t>({2}, {255, 255}), 510);
  const bool yes[] = {true, true, false, true};
  expect(Tensor::from<bool>({4}, yes), 3);
  EXPECT_EQ(of(prod, Tensor::from<std::int32_t>({2}, {65536, 65536}), 0).item<std::int64_t>(),
            4294967296);
}

// 1 + 2^-9 - 1 in bf16 is 0 if every sum is rounded.
TEST(Reduce, NarrowNumbersAreAddedInF32AndRoundedOnce) {
  for (const Dtype narrow : {Dtype::kBf16, Dtype::kF16}) {
    const float small = narrow == Dtype::kBf16 ? 0x1p-9f : 0x1p-12f;
    const Tensor x = Tensor::from<float>({3}, {1, small, -1});
    const Function f = trace("f", {{"x", x.type()}}, [&](std::span<const Value> v) {
      const Value y = cast(v[0], narrow);
      const std::vector<Value> all{sum(y, 0), sum(y), mean(y, 0),
                                   slice(cumulative_sum(y, 0), 0, 2, 3), prod(y, 0)};
      std::vector<Value> wide;
      for (const Value& total : all) {
        EXPECT_EQ(total.dtype(), narrow);
        wide.push_back(cast(total, Dtype::kF32));
      }
      return wide;
    });
    const std::vector<Tensor> in{x};
    const std::vector<Tensor> y = interpret(f, in);
    for (std::size_t i : {0, 1, 3}) EXPECT_EQ(elements(y[i])[0], small) << i;
    EXPECT_EQ(elements(y[4])[0], -small);
    const Function total = trace("g", {{"x", x.type()}}, [&](std::span<const Value> v) {
      return std::vector<Value>{cast(sum(cast(v[0], narrow)), Dtype::kF32)};
    });
    EXPECT_EQ(elements(interpret(grad(total, {0}), in)[0]), (std::vector<float>{1, 1, 1}));
  }
}

// 0.1 ten times has a mean that is rounded.
TEST(Reduce, TheSpreadOfEqualNumbersIsZeroAndFlat) {
  const auto run = [](const auto& numbers) {
    using T = std::decay_t<decltype(numbers[0])>;
    const Tensor x = Tensor::from({static_cast<std::int64_t>(numbers.size())}, numbers);
    const Function f = trace("f", {{"x", x.type()}}, [](std::span<const Value> in) {
      return std::vector<Value>{standard_deviation(in[0], 0)};
    });
    const std::vector<Tensor> in{x};
    const Tensor g = interpret(grad(f, {0}), in)[0];
    std::vector<T> all{interpret(f, in)[0].template item<T>()};
    all.insert(all.end(), g.values<T>().begin(), g.values<T>().end());
    return all;
  };
  EXPECT_EQ(run(std::vector<float>(10, 0.1f)), std::vector<float>(11, 0));
  EXPECT_EQ(run(std::vector<double>(10, 0.1)), std::vector<double>(11, 0));
  EXPECT_EQ(run(std::vector<double>{1, 3}), (std::vector<double>{1, -0.5, 0.5}));
  EXPECT_TRUE(std::isnan(run(std::vector<float>{1, INFINITY, INFINITY})[0]));
  EXPECT_TRUE(std::isnan(run(std::vector<float>{INFINITY, INFINITY})[0]));
}

TEST(Reduce, ArgminIsTheFirstSmallest) {
  EXPECT_TRUE(of(argmin, matrix(), 1).same_bits(Tensor::from<std::int32_t>({2}, {0, 2})));
  const Tensor tied = Tensor::from<float>({3}, {2, 1, 1});
  EXPECT_EQ(of(argmin, tied, 0).item<std::int32_t>(), 1);
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  const Tensor integers = Tensor::from<std::int32_t>({3}, {0, kLowest, 1});
  EXPECT_EQ(of(argmin, integers, 0).item<std::int32_t>(), 1);
  EXPECT_EQ(of(argmax, integers, 0).item<std::int32_t>(), 2);
}

TEST(Reduce, ArgmaxIsTheFirstNanIfThereIsOne) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = Tensor::from<double>({3, 4}, {1, nan, 9, nan, nan, 9, 9, 9, 1, 9, 9, nan});
  EXPECT_TRUE(of(argmax, x, 1).same_bits(Tensor::from<std::int32_t>({3}, {1, 0, 3})));
  EXPECT_TRUE(of(argmin, x, 1).same_bits(Tensor::from<std::int32_t>({3}, {1, 0, 3})));
}

TEST(Reduce, ProductsOfAnyLengthAndTheirSlopes) {
  EXPECT_TRUE(of(prod, matrix(), 1).same_bits(Tensor::from<double>({2}, {12, 0})));
  EXPECT_TRUE(of(prod, Tensor::zeros({Dtype::kI32, {0, 2}}), 0)
                  .same_bits(Tensor::from<std::int64_t>({2}, {1, 1})));
  const Function f = trace("f", {{"x", {Dtype::kF64, {5}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{prod(in[0], 0)};
  });
  const Tensor x = Tensor::from<double>({5}, {1, 2, 0, 3, 4});
  EXPECT_TRUE(interpret(grad(f, {0}), std::vector<Tensor>{x})[0].same_bits(
      Tensor::from<double>({5}, {0, 0, 24, 0, 0})));
}

TEST(Reduce, EqualExtremesShareTheSlope) {
  const Tensor x = Tensor::from<double>({2, 3}, {4, 1, 4, -1, -1, -1});
  const auto slopes = [&](Value (*reduction)(Value, std::int64_t)) {
    const Function f = trace("f", {{"x", x.type()}}, [&](std::span<const Value> in) {
      return std::vector<Value>{sum(reduction(in[0], 1))};
    });
    return interpret(grad(f, {0}), std::vector<Tensor>{x})[0];
  };
  const double third = 1.0 / 3;
  EXPECT_TRUE(
      slopes(max).same_bits(Tensor::from<double>({2, 3}, {0.5, 0, 0.5, third, third, third})));
  EXPECT_TRUE(slopes(min).same_bits(Tensor::from<double>({2, 3}, {0, 1, 0, third, third, third})));
}

TEST(Reduce, AnAxisOutsideIsNamed) {
  EXPECT_THROW(of(mean, matrix(), 2), Error);
  EXPECT_THROW(of(argmin, matrix(), -3), Error);
}

// Only the winner gets the cotangent, whatever it is.
TEST(Reduce, LosersGetNothing) {
  const Tensor x = Tensor::from<float>({2}, {1, 2});
  const Function f = trace("f", {{"x", x.type()}}, [](std::span<const Value> in) {
    return std::vector<Value>{max(in[0], 0) * INFINITY};
  });
  EXPECT_EQ(elements(interpret(grad(f, {0}), std::vector<Tensor>{x})[0]),
            (std::vector<float>{0, INFINITY}));
}

// As over one row of as many elements.
TEST(Norms, AreOverTheDimensionsOfTheirGain) {
  const Tensor x = Tensor::from<double>({2, 2, 2}, {1, 2, 3, 6, -1, 0, -2, 5});
  const Tensor gain = Tensor::from<double>({2, 2}, {1, 2, 3, 4});
  const Function f =
      trace("f", {{"x", x.type()}, {"gain", gain.type()}}, [](std::span<const Value> in) {
        const Value rows = reshape(in[0], {2, 4}), row = reshape(in[1], {4});
        return std::vector<Value>{layer_norm(in[0], in[1], in[1]), layer_norm(rows, row, row),
                                  rms_norm(in[0], in[1]), rms_norm(rows, row)};
      });
  const std::vector<Tensor> y = interpret(f, std::vector<Tensor>{x, gain});
  EXPECT_TRUE(y[0].same_bits(y[1].reshape(x.shape())));
  EXPECT_TRUE(y[2].same_bits(y[3].reshape(x.shape())));
}

// Rows whose squares overflow or vanish, and beside them one whose squares do not.
template <class T>
class NormsOfAnySize : public testing::Test {};
using Floating = testing::Types<float, double>;
TYPED_TEST_SUITE(NormsOfAnySize, Floating);

TYPED_TEST(NormsOfAnySize, AreThoseOfTheirDirection) {
  using T = TypeParam;
  const T huge = sizeof(T) == 8 ? static_cast<T>(1e300) : static_cast<T>(1e30);
  const T sizes[] = {1, huge, 1 / huge};
  std::vector<T> x;
  for (const T size : sizes) x.insert(x.end(), {size, -2 * size, 3 * size, 5 * size});
  const std::vector<Tensor> in{Tensor::from({3, 4}, x)};
  const std::vector<std::function<Value(Value)>> norms = {
      [](Value v) { return layer_norm(v, {}, {}, 0); }, [](Value v) { return rms_norm(v, {}, 0); }};
  for (const auto& norm : norms) {
    const Function value = trace("f", {{"x", in[0].type()}}, [&](std::span<const Value> v) {
      return std::vector<Value>{norm(v[0])};
    });
    const Function total = trace("f", {{"x", in[0].type()}}, [&](std::span<const Value> v) {
      const Value y = norm(v[0]);
      return std::vector<Value>{sum(y * y * y)};
    });
    const Function slope = grad(total, {0});
    const auto expect = [&](const Tensor& y, const auto& as_usual) {
      for (std::size_t i = 4; i < 12; ++i) {
        const double want = y.values<T>()[i % 4];
        EXPECT_NEAR(as_usual(y.values<T>()[i], sizes[i / 4]), want, 1e-4) << i;
        EXPECT_GT(std::abs(want), 0.01);
      }
    };
    for (const Tensor& y : {interpret(value, in)[0], compile(value)(in)[0]})
      expect(y, [](T v, T) { return v; });
    for (const Tensor& y : {interpret(slope, in)[0], compile(slope)(in)[0]})
      expect(y, [](T v, T size) { return v * size; });
  }
}

}  // namespace
}  // namespace limpid
