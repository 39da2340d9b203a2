// Functions made of reductions.
#include "limpid/ops/reduce.h"

#include <gtest/gtest.h>

#include <limits>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"

namespace limpid {
namespace {

Tensor of(Value (*reduction)(Value, std::int64_t), const Tensor& x, std::int64_t axis) {
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

TEST(Reduce, MeanAndVarianceOfIntegersAreRoundedTowardsZero) {
  const Tensor up = Tensor::from<std::int32_t>({3}, {5, 2, 4});
  const Tensor down = Tensor::from<std::int32_t>({3}, {-5, -2, -4});
  EXPECT_EQ(of(mean, up, 0).item<std::int32_t>(), 3);  // of 11 / 3
  EXPECT_EQ(of(mean, down, 0).item<std::int32_t>(), -3);
  EXPECT_EQ(of(variance, up, 0).item<std::int32_t>(), 2);  // 4 + 1 + 1 by 3
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
                  .same_bits(Tensor::from<std::int32_t>({2}, {1, 1})));
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

}  // namespace
}  // namespace limpid
