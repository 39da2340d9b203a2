// Gradients against finite differences: right ones pass, wrong ones are reported with their index.
#include "limpid/inspect/gradcheck.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/nn/init.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

Params with_example(Params params, std::int64_t features) {
  params.set("x", nn::normal(1)(Key(5), {features}));
  return params;
}

// The row of a function's only input.
GradcheckRow row_of(const Tensor& x, const std::function<Value(const Value&)>& f,
                    const GradcheckOptions& options = {}) {
  const Function traced = trace("f", {{"x", x.type()}}, [&](std::span<const Value> in) {
    return std::vector<Value>{f(in[0])};
  });
  return gradcheck(traced, {{"x", x}}, Key(1), options).at(0);
}

TEST(Gradcheck, NetworksOfEveryActivationAgree) {
  for (const std::string& name : nn::activation_names()) {
    if (name == "step") continue;  // has no gradient
    const nn::Mlp net = nn::mlp({5, 7, 6, 3}, nn::activation_from_name(name).apply);
    const auto rows = gradcheck(net.function(), with_example(net.init(Key(2)), 5), Key(3));
    ASSERT_EQ(rows.size(), 7u);
    for (const GradcheckRow& row : rows) {
      EXPECT_TRUE(row.agrees) << name << "\n" << to_text(rows);
      EXPECT_EQ(row.checked, std::min<std::int64_t>(64, row.type.shape.elements()));
    }
  }
}

TEST(Gradcheck, OfLargeTensorsAFewElementsAreTried) {
  const nn::Mlp net = nn::mlp({50, 40, 3}, tanh);
  const auto rows = gradcheck(net.function(), with_example(net.init(Key(2)), 50), Key(3),
                              {.samples = 10, .tolerance = 1e-6});
  EXPECT_LE(rows[0].checked, 10);
  EXPECT_GE(rows[0].checked, 5);
  EXPECT_EQ(rows[3].checked, 3);
}

TEST(Gradcheck, NothingIsWrongWhereNothingIsThere) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}, {"none", {Dtype::kF32, {0}}}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{sum(in[0] * in[0]) + sum(in[1])};
                           });
  const auto rows = gradcheck(
      f, {{"x", Tensor::from<float>({2}, {1, 2})}, {"none", Tensor::zeros({Dtype::kF32, {0}})}},
      Key(3));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].checked, 0);
  EXPECT_EQ(rows[1].relative_error, 0);
  EXPECT_TRUE(rows[1].agrees);
}

TEST(Gradcheck, AFunctionWithoutInputsHasNoRows) {
  Builder builder("f");
  const Value y = constant(builder, Tensor::from<float>({2}, {1, 2}));
  EXPECT_TRUE(gradcheck(builder.finish(std::vector{y}), {}, Key(1)).empty());
}

// 10 draws among 11 elements: some come twice, and are counted once.
TEST(Gradcheck, CountsTheElementsThatAreTried) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {11}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{exp(in[0])};
  });
  const auto rows = gradcheck(f, {{"x", nn::normal(1)(Key(5), {11})}}, Key(3),
                              {.samples = 10, .tolerance = 1e-6});
  EXPECT_LT(rows[0].checked, 10);
  EXPECT_GE(rows[0].checked, 5);
  // As many as there are: all of them.
  EXPECT_EQ(gradcheck(f, {{"x", nn::normal(1)(Key(5), {11})}}, Key(3),
                      {.samples = 11, .tolerance = 1e-6})[0]
                .checked,
            11);
}

// What is added to all operands of a softmax changes nothing: the gradient is 0 up to rounding, and
// the difference nothing but rounding, which the step magnifies.
TEST(Gradcheck, RoundingIsNoDifferenceWhereTheGradientIsZero) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {4, 9}}}, {"b", {Dtype::kF32, {4}}}},
                           [](std::span<const Value> in) {
                             const Value shift = expand_axis(in[1], in[0].shape(), 1);
                             return std::vector<Value>{softmax(in[0] + shift)};
                           });
  for (std::uint64_t k = 0; k < 20; ++k) {
    const auto rows = gradcheck(
        f, {{"x", nn::normal(1)(Key(k), {4, 9})}, {"b", nn::normal(1)(Key(k + 50), {4})}}, Key(k));
    for (const GradcheckRow& row : rows) EXPECT_TRUE(row.agrees) << to_text(rows);
  }
}

// The loss is near 0, its terms are not: its rounding error is as large as theirs.
TEST(Gradcheck, RoundingIsThatOfTheTermsWhereTheyCancel) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}, {"b", {Dtype::kF32, {}}}},
                           [](std::span<const Value> in) {
                             const Value shift = expand_axis(in[1], in[0].shape(), 0);
                             return std::vector<Value>{softmax(in[0] + shift)};
                           });
  int cancelled = 0;
  for (std::uint64_t k = 0; k < 400; ++k) {
    const Tensor weights = nn::normal(1)(Key(k), {2});
    const float w = weights.values<float>()[0], v = weights.values<float>()[1];
    if (w * v >= 0) continue;
    ++cancelled;
    const auto rows = gradcheck(f,
                                {{"x", Tensor::from<float>({2}, {arithmetic::log(-v / w), 0})},
                                 {"b", Tensor::scalar<float>(0.3f)}},
                                Key(k));
    EXPECT_TRUE(rows[1].agrees) << to_text(rows);
  }
  EXPECT_GT(cancelled, 0);
}

// At a kink, a millionth where the gradient says 0: little, and far above rounding.
TEST(Gradcheck, ASmallWrongGradientDiffers) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {9}}}, {"b", {Dtype::kF32, {}}}},
                           [](std::span<const Value> in) {
                             const Value kink = expand_axis(relu(in[1]) * 1e-6, in[0].shape(), 0);
                             return std::vector<Value>{softmax(in[0]) + kink};
                           });
  const auto rows =
      gradcheck(f, {{"x", nn::normal(1)(Key(1), {9})}, {"b", Tensor::scalar<float>(0)}}, Key(1));
  EXPECT_TRUE(rows[0].agrees) << to_text(rows);
  EXPECT_FALSE(rows[1].agrees) << to_text(rows);
}

// Integers have no gradient, and the rows of the others have the types of the function.
TEST(Gradcheck, HasARowForEveryInputOfRealNumbers) {
  const Function f = trace(
      "f", {{"rows", {Dtype::kI32, {2}}}, {"table", {Dtype::kF32, {3, 2}}}},
      [](std::span<const Value> in) { return std::vector<Value>{exp(gather(in[1], in[0]))}; });
  const auto rows = gradcheck(f,
                              {{"rows", Tensor::from<std::int32_t>({2}, {2, 0})},
                               {"table", Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6})}},
                              Key(1));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "table");
  EXPECT_EQ(to_string(rows[0].type), "f32[3, 2]");
  EXPECT_TRUE(rows[0].agrees) << to_text(rows);
}

// At 0 the derivative of relu is 0, but the finite difference is 1/2.
TEST(Gradcheck, ADifferenceIsNamedWithItsPlace) {
  const GradcheckRow row = row_of(Tensor::from<float>({2, 3}, {1, 2, -1, 3, 0, 1}), relu);
  EXPECT_FALSE(row.agrees);
  EXPECT_EQ(row.index, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(row.gradient, 0);
  EXPECT_NE(row.difference, 0);
  // The differences of two outputs do not cancel.
  const auto both = [](const Value& x) { return concatenate({relu(x), -relu(x)}, 0); };
  EXPECT_FALSE(row_of(Tensor::from<float>({1}, {0}), both).agrees);
}

// The gradient of relu(x) + x at 0 is 1, the difference 3/2, both times a weight.
TEST(Gradcheck, ErrorsAreTheDistanceAndItsShareOfTheLarger) {
  const Tensor zero = Tensor::from<float>({1}, {0});
  const auto kink = [](const Value& x) { return relu(x) + x; };
  const GradcheckRow row = row_of(zero, kink);
  EXPECT_NEAR(row.difference / row.gradient, 1.5, 1e-6);
  EXPECT_NEAR(row.absolute_error / std::fabs(row.gradient), 0.5, 1e-6);
  EXPECT_NEAR(row.relative_error, 1.0 / 3, 1e-6);
  for (const auto& [tolerance, agrees] : {std::pair{0.3, false}, {0.4, true}})
    EXPECT_EQ(row_of(zero, kink, {.samples = 1, .tolerance = tolerance}).agrees, agrees);
}

TEST(Gradcheck, TheExactElementIsToldWhereNoneDiffers) {
  const GradcheckRow row =
      row_of(Tensor::from<float>({3}, {0, 0, 0}), [](const Value& x) { return x; }, {.samples = 1});
  EXPECT_EQ(row.absolute_error, 0);
  EXPECT_NE(row.gradient, 0);
  EXPECT_FALSE(row.index.empty());
}

TEST(Gradcheck, TriesPlacesThatFitTheCurve) {
  // The difference of two places a millionth apart is off by 1e-5, that of nearer ones by 1e-7.
  EXPECT_TRUE(row_of(Tensor::from<float>({3}, {0, 1e-4f, -1e-4f}),
                     [](const Value& x) { return exp(x * 1e4); }, {.samples = 3, .tolerance = 1e-6})
                  .agrees);
  // Steps are in proportion to large numbers.
  EXPECT_TRUE(row_of(Tensor::from<double>({2}, {1e12, -1e14}), [](const Value& x) { return x * x; },
                     {.samples = 2, .tolerance = 1e-6})
                  .agrees);
  // A cube is level at 0: its difference is not quite 0, but little beside the other gradient.
  EXPECT_TRUE(row_of(Tensor::from<float>({2}, {0, 3e-3f}), [](const Value& x) {
                return x * 1e3 * (x * 1e3) * (x * 1e3);
              }).agrees);
}

TEST(Gradcheck, RefusesAFunctionWhoseOutputIsNoRealNumber) {
  expect_refused(ErrorCode::kDtype, [] {
    row_of(Tensor::from<float>({2}, {1, 2}), [](const Value& x) { return cast(x, Dtype::kI32); });
  });
}

TEST(Gradcheck, WritesARowForEachInput) {
  GradcheckRow row;
  row.name = "w";
  row.type = {Dtype::kF32, {1234, 5}};
  row.checked = 6170;
  row.absolute_error = 0.5;
  row.relative_error = 0.25;
  row.index = {7, 3};
  row.gradient = 2;
  row.difference = 1.5;
  row.agrees = false;
  GradcheckRow alike = row;
  alike.agrees = true;
  expect_message(to_text({row, alike}));
}

TEST(Gradcheck, NotANumberDoesNotAgree) {
  EXPECT_FALSE(row_of(Tensor::from<float>({2}, {1, -1}), log).agrees);
}

}  // namespace
}  // namespace limpid
