// Clipping of gradients. PyTorch's numbers are compared with in tests/golden.
#include "limpid/optim/clip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/group.h"
#include "limpid/ops/reduce.h"
#include "limpid/optim/sgd.h"
#include "limpid/optim/step.h"
#include "tests/refusals.h"

namespace limpid::optim {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> clipped(const std::vector<float>& gradient,
                           const std::function<Args(const Args&)>& clip) {
  const Tensor g = Tensor::from({static_cast<std::int64_t>(gradient.size())}, gradient);
  const Function f = trace("clip", {{"g", g.type()}}, [&](std::span<const Value> in) {
    return clip({{"g", in[0]}}).values();
  });
  const Tensor result = interpret(f, std::vector<Tensor>{g})[0];
  return {result.values<float>().begin(), result.values<float>().end()};
}

TEST(Clip, ByValueBoundsEveryElementAndKeepsNan) {
  const auto got = clipped({-3, -0.5f, 0, 0.25f, 8, INFINITY, kNan},
                           [](const Args& g) { return clip_by_value(g, 0.5); });
  EXPECT_EQ((std::vector<float>(got.begin(), got.end() - 1)),
            (std::vector<float>{-0.5f, -0.5f, 0, 0.25f, 0.5f, 0.5f}));
  EXPECT_TRUE(std::isnan(got.back()));
}

TEST(Clip, ByNormLeavesSmallGradientsAlone) {
  const std::vector<float> small{0.3f, -0.4f};
  EXPECT_EQ(clipped(small, [](const Args& g) { return clip_by_global_norm(g, 0.6); }), small);
}

TEST(Clip, ByNormShortensLargeOnesAlongTheirDirection) {
  const auto got = clipped({30, -40}, [](const Args& g) { return clip_by_global_norm(g, 5); });
  EXPECT_NEAR(got[0], 3, 1e-5);
  EXPECT_NEAR(got[1], -4, 1e-5);
}

TEST(Clip, ByNormNeedsGradients) {
  expect_refused(ErrorCode::kInvalidArgument, [&] { clip_by_global_norm({}, 1); });
}

TEST(Clip, ByNormTakesAllTensorsForOneVector) {
  const Function f = trace("clip", {{"a", {Dtype::kF32, {1}}}, {"b", {Dtype::kF32, {1}}}},
                           [](std::span<const Value> in) {
                             return clip_by_global_norm({{"a", in[0]}, {"b", in[1]}}, 1).values();
                           });
  const std::vector<Tensor> got =
      interpret(f, std::vector{Tensor::from<float>({1}, {30}), Tensor::from<float>({1}, {40})});
  EXPECT_NEAR(got[0].item<float>(), 0.6, 1e-6);
  EXPECT_NEAR(got[1].item<float>(), 0.8, 1e-6);
}

TEST(Clip, NormsWhoseSquaresOverflowOrVanish) {
  for (const float size : {1e30f, 1e-30f}) {
    const auto norm = clipped({3 * size, -4 * size}, [](const Args& g) {
      return Args{{"norm", global_norm(g)}};
    });
    EXPECT_NEAR(norm[0] / size, 5, 1e-5);
  }
  const auto got =
      clipped({3e30f, -4e30f}, [](const Args& g) { return clip_by_global_norm(g, 5); });
  EXPECT_NEAR(got[0], 3, 1e-5);
  EXPECT_NEAR(got[1], -4, 1e-5);
}

TEST(Clip, ByNormShowsNan) {
  for (float x : clipped({1, kNan}, [](const Args& g) { return clip_by_global_norm(g, 5); }))
    EXPECT_TRUE(std::isnan(x));
}

// The parameter after one step on the gradient (3, -0.5, -7, 0).
template <class O>
std::vector<float> after_step(const Clip& clip, const O& optimizer) {
  const Type type{Dtype::kF32, {4}};
  const Function f = trace("step", {{"p", type}, {"g", type}}, [&](std::span<const Value> in) {
    return clipped_update(optimizer, clip, {{"p", in[0]}}, {{"p", in[1]}}, {},
                          number_like(sum(in[0]), 1))
        .params.values();
  });
  const std::vector<Tensor> in{Tensor::zeros(type), Tensor::from<float>({4}, {3, -0.5f, -7, 0})};
  const Tensor p = interpret(f, in)[0];
  return {p.values<float>().begin(), p.values<float>().end()};
}

std::vector<float> after_step(const Clip& clip) { return after_step(clip, Sgd{.momentum = 0}); }

TEST(Clip, OfAStepIsByValueThenByNorm) {
  EXPECT_EQ(after_step({}), (std::vector<float>{-3, 0.5f, 7, 0}));
  EXPECT_EQ(after_step({.value = 1}), (std::vector<float>{-1, 0.5f, 1, 0}));
  const std::vector<float> by_norm = after_step({.norm = 0.5});
  const std::vector<float> by_both = after_step({.value = 1, .norm = 0.75});
  for (std::size_t i = 0; i < by_both.size(); ++i) {
    EXPECT_NEAR(by_norm[i], after_step({})[i] * 0.5 / std::sqrt(58.25), 1e-6) << i;
    EXPECT_NEAR(by_both[i], after_step({.value = 1})[i] * 0.5, 1e-6) << i;
  }
}

TEST(Clip, OfAStepIsForOptimizersOfAProgramToo) {
  const auto plain = [](const Args& params, const Args& gradients, const Args&, Value rate) {
    return Update{params - rate * gradients, {}};
  };
  const Clip clips[] = {{}, {.value = 1}, {.norm = 0.5}, {.value = 1, .norm = 0.75}};
  for (const Clip& clip : clips) EXPECT_EQ(after_step(clip, plain), after_step(clip));
}

TEST(Clip, LimitsArePositive) {
  for (double limit : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW(clipped({1}, [&](const Args& g) { return clip_by_value(g, limit); }), Error);
    EXPECT_THROW(clipped({1}, [&](const Args& g) { return clip_by_global_norm(g, limit); }), Error);
  }
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { clipped({1}, [](const Args& g) { return clip_by_value(g, 0); }); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { clipped({1}, [](const Args& g) { return clip_by_global_norm(g, -1); }); });
}

}  // namespace
}  // namespace limpid::optim
