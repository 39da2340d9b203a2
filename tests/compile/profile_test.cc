#include "limpid/compile/profile.h"

#include <gtest/gtest.h>

#include "limpid/limpid.h"

namespace limpid {
namespace {

Function two_layers() {
  return trace("f", {{"x", {Dtype::kF32, {64, 32}}}, {"w", {Dtype::kF32, {48, 32}}}},
               [](std::span<const Value> in) {
                 const Value y = softmax(linear(in[0], in[1]), -1);
                 return std::vector<Value>{matmul(y, in[1]), sum(y, 0)};
               });
}

TEST(Profile, HasEveryBandOfThePlanInItsOrder) {
  const Function f = two_layers();
  const std::vector<Tensor> inputs = {nn::normal(1.0)(Key(1), {64, 32}),
                                      nn::normal(1.0)(Key(2), {48, 32})};
  for (const int threads : {1, 2}) {
    ThreadPool pool({.threads = threads});
    std::string steps;
    for (const BandTime& band : profile(f, inputs, 3, &pool)) {
      EXPECT_GT(band.microseconds, 0) << band.steps;
      steps += band.steps;
    }
    EXPECT_EQ(steps, compile(f).plan());
  }
}

// No CPU computes 33 million sums and products in 10 of them.
TEST(Profile, IsInMicroseconds) {
  const Type square{Dtype::kF32, {256, 256}};
  const Function f = trace("f", {{"x", square}}, [](std::span<const Value> in) {
    return std::vector<Value>{matmul(in[0], in[0])};
  });
  const std::vector<BandTime> times = profile(f, std::vector{Tensor::zeros(square)}, 1);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_GT(times[0].microseconds, 10);
}

TEST(Profile, RefusesWhatTheFunctionDoes) { EXPECT_THROW(profile(two_layers(), {}, 1), Error); }

// Constants, and what lies between the steps of a band, are in their places.
TEST(Profile, RunsWhatThePlanRuns) {
  const Type type{Dtype::kF32, {64, 8}};
  const Function f = trace("f", {{"x", type}}, [](std::span<const Value> in) {
    const auto weight = [&](const Shape& shape, std::uint64_t key) {
      return constant(in[0].builder(), nn::normal(1.0)(Key(key), shape));
    };
    return std::vector<Value>{linear(linear(in[0], weight({16, 8}, 1)), weight({8, 16}, 2))};
  });
  const Tensor x = nn::normal(1.0)(Key(3), type.shape);
  const Tensor want = interpret(f, {&x, 1})[0];
  CompileOptions options;
  options.donations = {{0, 0}};
  for (const int threads : {1, 2}) {
    const Tensor given = Tensor::from<float>(type.shape, x.values<float>());
    ThreadPool pool({.threads = threads});
    const std::vector<BandTime> times = profile(f, {&given, 1}, 0, &pool, options);
    ASSERT_EQ(times.size(), 1u);
    EXPECT_EQ(times[0].steps.find("2 steps for 64 rows, 64 at a time:"), 0u) << times[0].steps;
    EXPECT_TRUE(given.same_bits(want)) << threads;
  }
}

TEST(Profile, WritesWhereAnInputIsGivenAway) {
  const Type cache_type{Dtype::kF32, {4, 2}}, row_type{Dtype::kF32, {1, 2}};
  const Function f =
      trace("f", {{"row", row_type}, {"cache", cache_type}, {"place", {Dtype::kI32, {}}}},
            [](std::span<const Value> in) {
              const Value after = update_rows(in[1], in[0], in[2], 0);
              return std::vector<Value>{after, sum(after)};  // the sum is another buffer
            });
  const std::vector<Tensor> inputs = {Tensor::from({1, 2}, std::vector{5.0f, 6.0f}),
                                      Tensor::zeros(cache_type), Tensor::scalar(std::int32_t{2})};
  const Tensor want = interpret(f, inputs)[0];
  CompileOptions options;
  options.donations = {{1, 0}};
  profile(f, inputs, 1, nullptr, options);
  EXPECT_TRUE(inputs[1].same_bits(want));
  options.donations = {{0, 0}};
  EXPECT_THROW(profile(f, inputs, 1, nullptr, options), Error);
}

}  // namespace
}  // namespace limpid
