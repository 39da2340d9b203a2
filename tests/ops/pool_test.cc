// Pooling at its edges: windows of padding, ties, whole pictures, last partial windows.
#include "limpid/ops/pool.h"

#include <gtest/gtest.h>

#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr float kPoolInfinity = std::numeric_limits<float>::infinity();

// The results of a Function of x, compiled and interpreted.
std::vector<Tensor> results_of(const Tensor& x, const std::function<std::vector<Value>(Value)>& f) {
  const Function function =
      trace("f", {{"x", x.type()}}, [&](std::span<const Value> in) { return f(in[0]); });
  const std::vector<Tensor> in{x}, all = interpret(function, in), compiled = compile(function)(in);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(all[i].same_bits(compiled[i])) << i;
  return all;
}

Tensor floats(const std::vector<float>& x) {
  return Tensor::from({static_cast<std::int64_t>(x.size())}, x);
}

TEST(Pool, AWindowOfPaddingIsOfNothing) {
  const PoolOptions all{.kernel = {2}, .stride = {2}, .low = {4}, .high = {3}};
  const std::vector<Tensor> y = results_of(floats({3, -1}), [&](Value x) {
    return std::vector<Value>{max_pool(x, all),          max_pool_indices(x, all),
                              reduce_window_sum(x, all), avg_pool(x, all, false),
                              avg_pool(x, all),          lp_pool(x, 2, all)};
  });
  EXPECT_TRUE(y[0].same_bits(floats({-kPoolInfinity, -kPoolInfinity, 3, -kPoolInfinity})));
  EXPECT_TRUE(y[1].same_bits(Tensor::from<std::int32_t>({4}, {-1, -1, 0, -1})));
  EXPECT_TRUE(y[2].same_bits(floats({0, 0, 2, 0})));
  EXPECT_TRUE(y[3].same_bits(floats({0, 0, 1, 0})));
  EXPECT_TRUE(y[4].same_bits(floats({0, 0, 1, 0})));
}

// Padding after the elements that no window, or only windows of padding, would reach.
TEST(Pool, GradientsOfMuchPadding) {
  for (const auto& [low, high] : {std::pair{5, 0}, {0, 7}, {9, 9}, {1, 3}})
    for (const std::int64_t stride : {1, 2, 3, 11}) {
      const PoolOptions o{.kernel = {2}, .stride = {stride}, .low = {low}, .high = {high}};
      // d/dx of the sum of all windows: the number of windows that an element is in.
      const std::vector<Tensor> y = results_of(floats({1, 2, 3}), [&](Value x) {
        const Function f = trace("sum", {{"x", x.type()}}, [&](std::span<const Value> in) {
          return std::vector<Value>{sum(reduce_window_sum(in[0], o))};
        });
        const Value in[] = {x};
        return x.builder().inline_function(grad(f), in);
      });
      for (std::int64_t i = 0; i < 3; ++i) {
        float windows = 0;
        for (std::int64_t first = -low; first + 2 <= 3 + high; first += stride)
          windows += first == i || first + 1 == i ? 1 : 0;
        EXPECT_EQ(y[0].values<float>()[static_cast<std::size_t>(i)], windows)
            << low << " " << high << " by " << stride << " at " << i;
      }
    }
}

TEST(Pool, TheFirstOfEqualElementsAndOfNaNsWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> y = results_of(floats({1, 1, 0, -0.0f, nan, 2, nan, nan}), [](Value x) {
    return std::vector<Value>{max_pool(x, {.kernel = {2}}), max_pool_indices(x, {.kernel = {2}})};
  });
  EXPECT_EQ(y[0].values<float>()[0], 1);
  EXPECT_FALSE(std::signbit(y[0].values<float>()[1]));
  EXPECT_TRUE(std::isnan(y[0].values<float>()[2]));
  EXPECT_TRUE(y[1].same_bits(Tensor::from<std::int32_t>({4}, {0, 2, 4, 6})));
}

// docs/arithmetic.md: a window of the whole picture is a sum over another axis than the last.
TEST(Pool, TheWholePictureIsTheStridedSum) {
  const Shape shape{3, 4, 17, 19};
  const Tensor x = Tensor::generate<float>(shape, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Key(3).uniform(i) - 0.25f;
  });
  const std::vector<Tensor> y = results_of(x, [&](Value v) {
    const Value rows = transpose(reshape(v, {3, 4, 17 * 19}), {0, 2, 1});
    return std::vector<Value>{adaptive_avg_pool(v, {1, 1}), reshape(mean(rows, 1), {3, 4, 1, 1})};
  });
  EXPECT_TRUE(y[0].same_bits(y[1]));
}

// PyTorch leaves a last window out that would begin in the last padding.
TEST(Pool, CeilMode) {
  const auto shape = [](std::int64_t size, PoolOptions o) {
    o.ceil_mode = true;
    return results_of(Tensor::zeros({Dtype::kF32, {size}}),
                      [&](Value x) { return std::vector<Value>{max_pool(x, o)}; })[0]
        .elements();
  };
  EXPECT_EQ(shape(6, {.kernel = {3}, .stride = {2}}), 3);
  EXPECT_EQ(shape(7, {.kernel = {3}, .stride = {2}}), 3);
  EXPECT_EQ(shape(4, {.kernel = {1}, .stride = {5}}), 1);
  EXPECT_EQ(shape(3, {.kernel = {2}, .stride = {2}, .low = {1}}), 2);
  EXPECT_EQ(shape(2, {.kernel = {2}, .stride = {3}, .low = {1}}), 1);
}

TEST(Pool, Refusals) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  const auto refused = [](const PoolOptions& o, const Type& type = {Dtype::kF32, {2, 3, 4}}) {
    Builder b("f");
    const Value x = b.input("x", type);
    expect_refused(ErrorCode::kShape, [&] { max_pool(x, o); });
  };
  refused({});
  refused({.kernel = {1, 1, 1, 1}}, {Dtype::kF32, {1, 1, 1, 1}});
  refused({.kernel = {2, 2}}, {Dtype::kF32, {4}});
  refused({.kernel = {2}, .stride = {1, 1}});
  refused({.kernel = {0}});
  refused({.kernel = {2}, .stride = {-1}});
  refused({.kernel = {2}, .low = {-1}});
  refused({.kernel = {5}});
  refused({.kernel = {5}, .ceil_mode = true});
  refused({.kernel = {3}, .dilation = {kHalf}});
  refused({.kernel = {2}, .low = {kHalf}});
  Builder b("f");
  const Value x = b.input("x", {Dtype::kF32, {2, 3, 4}});
  for (const double p : {0.0, -1.0, static_cast<double>(kPoolInfinity)})
    expect_refused(ErrorCode::kInvalidArgument, [&] { lp_pool(x, p, {.kernel = {2}}); });
  expect_refused(ErrorCode::kShape, [&] { adaptive_avg_pool(x, {}); });
  expect_refused(ErrorCode::kShape, [&] { adaptive_max_pool(x, {2, 0}); });
  expect_refused(ErrorCode::kShape, [&] { adaptive_max_pool(x, {kHalf, 3}); });
  expect_refused(ErrorCode::kShape,
                 [&] { max_unpool(x, max_pool_indices(x, {.kernel = {2}}), {8}); });
}

}  // namespace
}  // namespace limpid
