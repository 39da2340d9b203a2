// The table of activations agrees with the functions.
#include "limpid/nn/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "apps/limpid/lab/activations.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

constexpr double kStep = 0.001;

// From -12 to 12.
lab::ActivationCurve curve_of(const Activation& activation) {
  return lab::curve_of(activation, 12'000, kStep);
}

TEST(Activations, RangesHold) {
  for (const std::string& name : activation_names()) {
    const Activation& a = activation_from_name(name);
    const lab::ActivationCurve curve = curve_of(a);
    const auto [low, high] = std::minmax_element(curve.y.begin(), curve.y.end());
    EXPECT_GE(*low, a.low) << name;
    EXPECT_LE(*high, a.high) << name;
    // Bounds that are finite are reached, or nearly.
    EXPECT_TRUE(!std::isfinite(a.low) || *low < a.low + 1e-4) << name << " " << *low;
    EXPECT_TRUE(!std::isfinite(a.high) || *high > a.high - 1e-4) << name << " " << *high;
  }
}

TEST(Activations, SlopesHold) {
  for (const std::string& name : activation_names()) {
    const Activation& a = activation_from_name(name);
    const lab::ActivationCurve curve = curve_of(a);
    double steepest = 0;
    for (std::size_t i = 0; i < curve.slope.size(); ++i) {
      const double size = std::fabs(curve.slope[i]);
      steepest = std::max(steepest, size);
      const double inside = std::min(curve.x[i] - a.flat_below, a.flat_above - curve.x[i]);
      EXPECT_TRUE(inside >= 0 || size < kFlat) << name << " at " << curve.x[i];
      const bool just_inside = inside > 0 && inside < 1.5 * kStep;
      EXPECT_TRUE(!just_inside || size > kFlat * 0.999) << name << " at " << curve.x[i];
    }
    EXPECT_NEAR(steepest, a.steepest, 5e-4) << name;
    EXPECT_LE(steepest, a.steepest + 1e-9) << name;
  }
}

// 1 / sqrt(E f(z)^2), except where the table has PyTorch's.
TEST(Activations, GainsKeepTheSecondMoment) {
  for (const std::string& name : activation_names()) {
    if (name == "tanh" || name == "sigmoid" || name == "selu") continue;
    const Activation& a = activation_from_name(name);
    const lab::ActivationCurve curve = curve_of(a);
    double moment = 0;
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      moment += curve.y[i] * curve.y[i] * std::exp(-curve.x[i] * curve.x[i] / 2) * kStep /
                std::sqrt(2 * std::numbers::pi);
    EXPECT_NEAR(a.gain, 1 / std::sqrt(moment), name == "step" ? 1e-3 : 1e-6) << name;
  }
}

// Those that the moments do not give: PyTorch's.
TEST(Activations, GainsOfPyTorch) {
  EXPECT_EQ(activation_from_name("tanh").gain, 5.0 / 3);
  EXPECT_EQ(activation_from_name("sigmoid").gain, 1);
  EXPECT_EQ(activation_from_name("selu").gain, 0.75);
}

TEST(Activations, WorkedSlopes) {
  EXPECT_EQ(activation_from_name("sigmoid").steepest, 0.25);
  EXPECT_EQ(activation_from_name("tanh").steepest, 1);
  EXPECT_EQ(activation_from_name("relu").steepest, 1);
  EXPECT_EQ(curve_of(activation_from_name("relu")).slope[12'000], 0);  // ReLU'(0)
}

TEST(Activations, AreFoundByNameAndFunction) {
  for (const std::string& name : activation_names()) {
    const Activation& a = activation_from_name(name);
    EXPECT_EQ(activation_of(a.apply).name, name);
    EXPECT_FALSE(a.derivative.empty());
  }
  EXPECT_THROW(activation_from_name("none of them"), Error);
  // Another function is refused, with a way to use it.
  expect_refused(ErrorCode::kNotFound, [&] { mlp({2, 3, 1}, [](Value x) { return x; }); });
}

// For large arguments, neither a finite result nor its slope overflows on the way.
TEST(Activations, AreStableFarOut) {
  const std::vector<float> far{-3e38f, -1e10f, -1e4f, -104, -89, 89, 104, 1e4f, 1e10f, 3e38f};
  const Tensor x = Tensor::from({10}, far);
  for (const std::string& name : activation_names()) {
    const Activation& a = activation_from_name(name);
    const Function f = trace("f", {{"x", x.type()}}, [&](std::span<const Value> in) {
      const Value y = a.apply(in[0]);
      return std::vector<Value>{sum(y * 1e-3), y};
    });
    const std::vector<Tensor> inputs{x};
    const Tensor values = interpret(f, inputs)[1];
    for (float y : values.values<float>())
      EXPECT_TRUE(std::isfinite(y) || std::fabs(y) > 3e38f) << name;
    if (a.steepest == 0) continue;
    const Tensor slopes = interpret(grad(f, {0}), inputs)[0];
    for (float slope : slopes.values<float>()) EXPECT_TRUE(std::isfinite(slope)) << name;
  }
}

}  // namespace
}  // namespace limpid::nn
