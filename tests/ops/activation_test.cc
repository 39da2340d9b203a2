// Activations at their edges. PyTorch's numbers are compared with in tests/golden, slopes and
// ranges in tests/nn.
#include "limpid/ops/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/jvp.h"

namespace limpid {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> values(const Tensor& t) {
  return {t.values<float>().begin(), t.values<float>().end()};
}

// f of a vector, f32.
std::vector<float> at(const std::vector<float>& x, const std::function<Value(Value)>& f) {
  const Tensor in = Tensor::from({static_cast<std::int64_t>(x.size())}, x);
  const Function traced = trace("f", {{"x", in.type()}}, [&](std::span<const Value> v) {
    return std::vector<Value>{f(v[0])};
  });
  return values(interpret(traced, std::vector<Tensor>{in})[0]);
}

TEST(Softplus, NeitherOverflowsNorVanishes) {
  const auto y = at({-1e4f, -100, -20, 0, 20, 100, 1e4f, 3e38f}, softplus);
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1] / std::exp(-100.0), 1, 0.04);  // 27 units of the smallest subnormal
  EXPECT_NEAR(y[2] / std::exp(-20.0), 1, 1e-6);
  EXPECT_NEAR(y[3], std::log(2.0), 1e-7);
  EXPECT_NEAR(y[4], 20, 1e-6);
  EXPECT_EQ(y[5], 100);
  EXPECT_EQ(y[6], 1e4f);
  EXPECT_EQ(y[7], 3e38f);
}

TEST(Step, IsOneAboveZeroAndShowsNan) {
  const auto y = at({-kInf, -1, -0.0f, 0, 1e-45f, 2, kInf, kNan}, step);
  EXPECT_EQ((std::vector<float>(y.begin(), y.end() - 1)),
            (std::vector<float>{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_TRUE(std::isnan(y.back()));
}

TEST(Clamp, KeepsNanAndHasNoSlopeAtItsEnds) {
  EXPECT_TRUE(std::isnan(at({kNan}, relu6)[0]));
  const Function f = trace("f", {{"x", {Dtype::kF32, {5}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{sum(relu6(in[0]))};
  });
  const std::vector<Tensor> x{Tensor::from<float>({5}, {-1, 0, 3, 6, 7})};
  EXPECT_EQ(values(interpret(grad(f, {0}), x)[0]), (std::vector<float>{0, 0, 1, 0, 0}));
}

float slope(const std::function<Value(Value)>& f, float at = 0) {
  const Function traced = trace("f", {{"x", {Dtype::kF32, {}}}}, [&](std::span<const Value> in) {
    return std::vector<Value>{f(in[0])};
  });
  return interpret(grad(traced, {0}), std::vector<Tensor>{Tensor::scalar(at)})[0].item<float>();
}

// x s(x): the factor is 0 or 1 at the ends, and so is the slope.
template <class T>
class AtInfinity : public testing::Test {};
using Floating = testing::Types<float, double>;
TYPED_TEST_SUITE(AtInfinity, Floating);

TYPED_TEST(AtInfinity, ProductsWithASigmoidAreZeroOrTheArgument) {
  using T = TypeParam;
  constexpr T inf = std::numeric_limits<T>::infinity(), most = std::numeric_limits<T>::max();
  const std::vector<std::function<Value(Value)>> rising = {
      gelu,
      gelu_tanh,
      silu,
      [](Value x) { return swish(x, 1.5); },
      mish,
      hard_swish,
      [](Value x) { return geglu(x, number_like(x, 1)); },
      [](Value x) { return swiglu(x, number_like(x, 1)); }};
  const auto falling = [](Value x) { return swish(x, -0.5); };
  const auto half = [](Value x) { return swish(x, 0) * 2.0; };
  const auto check = [&](const std::function<Value(Value)>& f, const std::vector<T>& x,
                         const std::vector<T>& want, const std::vector<T>& slopes) {
    const std::vector<Tensor> in{Tensor::from({static_cast<std::int64_t>(x.size())}, x)};
    const Function value = trace("f", {{"x", in[0].type()}}, [&](std::span<const Value> v) {
      return std::vector<Value>{f(v[0])};
    });
    const Function total = trace("f", {{"x", in[0].type()}}, [&](std::span<const Value> v) {
      return std::vector<Value>{sum(f(v[0]))};
    });
    const auto expect = [&](const Function& g, const std::vector<T>& wanted) {
      for (const Tensor& y : {interpret(g, in)[0], compile(g)(in)[0]})
        EXPECT_EQ(std::vector<T>(y.values<T>().begin(), y.values<T>().end()), wanted);
    };
    expect(value, want);
    expect(grad(total, {0}), slopes);
    // A tangent of 1.
    std::vector<Tensor> moving = in;
    moving.push_back(Tensor::from(in[0].shape(), std::vector<T>(x.size(), 1)));
    const Tensor tangent = interpret(jvp(value, {0}), moving)[1];
    EXPECT_EQ(std::vector<T>(tangent.values<T>().begin(), tangent.values<T>().end()), slopes);
    // The second derivative.
    const Function slope = trace("g", {{"x", in[0].type()}}, [&](std::span<const Value> v) {
      return std::vector<Value>{sum(v[0].builder().inline_function(grad(total, {0}), v)[0])};
    });
    expect(grad(slope, {0}), std::vector<T>(x.size(), 0));
  };
  for (std::size_t i = 0; i < rising.size(); ++i) {
    SCOPED_TRACE(i);
    check(rising[i], {-inf, -most, most, inf}, {0, 0, most, inf}, {0, 0, 1, 1});
  }
  check(falling, {-inf, -most, most, inf}, {-inf, -most, 0, 0}, {1, 1, 0, 0});
  check(half, {-inf, -1, 2, inf}, {-inf, -1, 2, inf}, {1, 1, 1, 1});
}

TEST(Prelu, AnInfiniteArgumentGivesItsSlopeNothing) {
  const Function f =
      trace("f", {{"x", {Dtype::kF32, {3}}}, {"a", {Dtype::kF32, {3}}}},
            [](std::span<const Value> in) { return std::vector<Value>{sum(prelu(in[0], in[1]))}; });
  const std::vector<Tensor> in{Tensor::from<float>({3}, {kInf, -2, 3}),
                               Tensor::from<float>({3}, {0.5f, 0.25f, kInf})};
  const std::vector<Tensor> slopes = interpret(grad(f, {0, 1}), in);
  EXPECT_EQ(values(slopes[0]), (std::vector<float>{1, 0.25f, 1}));
  EXPECT_EQ(values(slopes[1]), (std::vector<float>{0, -2, 0}));
}

// The derivative at 0 is the left one, which elu and leaky_relu leave open.
TEST(Kinks, SlopesAtZero) {
  EXPECT_EQ(slope(relu), 0);
  EXPECT_EQ(slope([](Value x) { return leaky_relu(x, 0.25); }), 0.25f);
  EXPECT_EQ(slope([](Value x) { return elu(x, 0.5); }), 0.5f);
}

// x / 3 + 1/2 holds from -3 to below 3; the flat parts of hard_sigmoid include their ends.
TEST(Kinks, SlopesAtMinusThreeAndThree) {
  EXPECT_EQ(slope(hard_swish, -3), -0.5f);
  EXPECT_EQ(slope(hard_swish, 3), 1);
  EXPECT_EQ(slope(hard_sigmoid, -3), 0);
  EXPECT_EQ(slope(hard_sigmoid, 3), 0);
}

TEST(LogSumExp, OfInfinities) {
  EXPECT_EQ(at({-kInf, -kInf}, [](Value x) { return log_sum_exp(x); })[0], -kInf);
  EXPECT_EQ(at({1, kInf}, [](Value x) { return log_sum_exp(x); })[0], kInf);
  EXPECT_EQ(at({-kInf, 3}, [](Value x) { return log_sum_exp(x); })[0], 3);
  EXPECT_TRUE(std::isnan(at({1, kNan}, [](Value x) { return log_sum_exp(x); })[0]));
  EXPECT_NEAR(at({1000, 1001, 1002}, [](Value x) { return log_sum_exp(x); })[0], 1002.40761, 1e-4);
}

TEST(Softmax, IsOverTheAxisThatIsAsked) {
  const Tensor x = Tensor::from<float>({2, 3}, {0, 1, 2, 4, 2, 5});
  for (Value (*const f)(Value, std::int64_t) : {softmax, log_softmax, log_sum_exp}) {
    const Function both = trace("f", {{"x", x.type()}}, [&](std::span<const Value> in) {
      const Value turned = f(transpose(in[0], {1, 0}), -1);
      const bool reduced = turned.rank() == 1;
      return std::vector<Value>{f(in[0], 0), f(in[0], -2),
                                reduced ? turned : transpose(turned, {1, 0})};
    });
    const std::vector<Tensor> y = interpret(both, std::vector<Tensor>{x});
    for (std::size_t i : {0, 1})
      for (std::size_t k = 0; k < y[2].values<float>().size(); ++k)
        EXPECT_FLOAT_EQ(y[i].values<float>()[k], y[2].values<float>()[k]) << i << ", " << k;
  }
}

TEST(Softmax, Worked) {
  EXPECT_EQ(at({1000, 1001, 1002}, [](Value x) { return softmax(x); }),
            at({0, 1, 2}, [](Value x) { return softmax(x); }));
  EXPECT_EQ(at({1e9f, -1e9f}, [](Value x) { return softmax(x); }), (std::vector<float>{1, 0}));
}

TEST(Gates, OfHalvesHaveTheValueFirst) {
  const std::vector<float> x{1, -2, 0.5f, 3};  // values 1, -2; gates 0.5, 3
  Value (*const of_two[])(Value, Value) = {glu, swiglu, geglu};
  Value (*const of_halves[])(Value) = {glu, swiglu, geglu};
  for (std::size_t g = 0; g < 3; ++g)
    EXPECT_EQ(at(x, of_halves[g]),
              at(x, [&](Value v) { return of_two[g](slice(v, 0, 2, 4), slice(v, 0, 0, 2)); }));
  EXPECT_THROW(at({1, 2, 3}, of_halves[0]), Error);
}

TEST(Clamp, MayHaveOneEndAlone) {
  EXPECT_EQ(at({1, 3}, [](Value x) { return clamp(x, 2, 2); }), (std::vector<float>{2, 2}));
}

}  // namespace
}  // namespace limpid
