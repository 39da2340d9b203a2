// Runs that are ended early: what is asked, when, and that nothing is left behind.
#include "limpid/compile/stop_check.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "limpid/limpid.h"

namespace limpid {
namespace {

constexpr std::int64_t kSize = 1024;

// About 50 milliseconds: products that are split by rows and by columns, and steps of other kinds.
Function long_function() {
  return trace("long", {{"x", {Dtype::kF32, {kSize, kSize}}}}, [&](std::span<const Value> in) {
    Builder& b = in[0].builder();
    const Value weights = constant(b, nn::normal(0.03)(Key(1), {kSize, kSize}));
    const Value x = softmax(linear(in[0], weights));
    const Value squares = matmul(x, in[0], true, false);
    return std::vector<Value>{gelu(squares), sum(squares, 0), layer_norm(x)};
  });
}

const std::vector<Tensor>& square() {
  static const std::vector<Tensor> all = {nn::normal(1.0)(Key(2), {kSize, kSize})};
  return all;
}

class Stopping : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, Stopping, testing::Values(1, 2, 3));

TEST_P(Stopping, ARunThatGoesOnHasTheSameBits) {
  ThreadPool pool({.threads = GetParam()});
  const Executable executable = compile(long_function());
  int asked = 0;
  StopCheck check([&, caller = std::this_thread::get_id()] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++asked;
    return false;
  });
  const auto checked = executable(square(), check, &pool);
  ASSERT_TRUE(checked);
  EXPECT_GT(asked, 0);
  const std::vector<Tensor> expected = executable(square());
  for (std::size_t o = 0; o < expected.size(); ++o)
    EXPECT_TRUE((*checked)[o].same_bits(expected[o])) << o;
}

// By the plan's estimate, three parts of 20 milliseconds. That asking takes longer than the time
// between two questions makes every part ask.
TEST(StopCheck, ALongStepAsksBetweenItsParts) {
  constexpr std::int64_t kSide = 1536;
  const Type type{Dtype::kF32, {kSide, kSide}};
  const Executable product = compile(trace("product", {{"x", type}}, [](std::span<const Value> in) {
    return std::vector<Value>{matmul(in[0], in[0])};
  }));
  int asked = 0;
  StopCheck check([&] {
    ++asked;
    std::this_thread::sleep_for(std::chrono::milliseconds(51));
    return false;
  });
  EXPECT_TRUE(product(std::vector{Tensor::zeros(type)}, check));
  EXPECT_GE(asked, 4);  // before the step, before each part of it, and behind it
}

// The chain is estimated at more than 20 milliseconds, the product that it joins at less.
TEST(StopCheck, AChainThatJoinsAProductTakesItsTime) {
  const Function f =
      trace("f", {{"x", f32({kSize, kSize})}, {"a", f32({kSize, 1})}, {"b", f32({1, kSize})}},
            [](std::span<const Value> in) {
              Value x = in[0];
              for (int i = 0; i < 160; ++i) x = x * in[0];
              return std::vector<Value>{matmul(in[1], in[2]) - x};
            });
  const Executable executable = compile(f);
  EXPECT_NE(executable.plan().find("matmul"), std::string::npos);
  EXPECT_EQ(executable.plan().find("lanes"), std::string::npos);
  StopCheck at_once([] { return true; });
  EXPECT_FALSE(
      executable(std::vector{Tensor::zeros(f32({kSize, kSize})), Tensor::zeros(f32({kSize, 1})),
                             Tensor::zeros(f32({1, kSize}))},
                 at_once));
}

TEST_P(Stopping, AWorkspaceCanRunAgain) {
  ThreadPool pool({.threads = GetParam()});
  const Executable executable = compile(long_function());
  Workspace workspace(executable, &pool);
  const void* const in = square()[0].bytes().data();
  std::vector<Tensor> results;
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> out;
  for (const Type& type : executable.output_types())
    out.push_back(memory.emplace_back(type.bytes()).data());

  StopCheck check([] { return true; });
  EXPECT_FALSE(workspace.run({&in, 1}, out, check));
  EXPECT_TRUE(check.stopped());
  EXPECT_EQ(memory[1], std::vector<std::byte>(memory[1].size()));  // it did not come that far

  workspace.run({&in, 1}, out);
  const std::vector<Tensor> expected = executable(square());
  for (std::size_t o = 0; o < expected.size(); ++o)
    EXPECT_EQ(std::memcmp(out[o], expected[o].bytes().data(), memory[o].size()), 0) << o;
}

TEST_P(Stopping, APredictorStopsBetweenItsRuns) {
  ThreadPool pool({.threads = GetParam()});
  const auto net = nn::mlp({4, 8, 2}, relu);
  const Predictor predict(net.function(), net.init(Key(0)), {.most_rows = 16, .pool = &pool});
  const std::vector<Tensor> examples = {nn::normal(1.0)(Key(3), {100, 4})};
  StopCheck never([] { return false; });
  const auto all = predict(examples, never);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->front().same_bits(predict(examples).front()));
  StopCheck at_once([] { return true; });
  EXPECT_FALSE(predict(examples, at_once));
  EXPECT_TRUE(predict(examples).front().same_bits(all->front()));
}

TEST_P(Stopping, APredictorStopsInARun) {
  ThreadPool pool({.threads = GetParam()});
  const auto net = nn::mlp({kSize, 4 * kSize, kSize}, relu);
  const Predictor predict(net.function(), net.init(Key(0)), {.most_rows = 256, .pool = &pool});
  const std::vector<Tensor> examples = {nn::normal(1.0)(Key(3), {256, kSize})};
  StopCheck at_once([] { return true; });
  EXPECT_FALSE(predict(examples, at_once));
  EXPECT_EQ(predict(examples).front().shape(), (Shape{256, kSize}));
}

TEST_P(Stopping, AnExecutableGivesNothingOfARunThatEnded) {
  ThreadPool pool({.threads = GetParam()});
  const Executable executable = compile(long_function());
  StopCheck at_once([] { return true; });
  EXPECT_FALSE(executable(square(), at_once, &pool));
}

TEST(StopCheck, AsksAtMostEvery50Milliseconds) {
  using Clock = std::chrono::steady_clock;
  const auto longest = std::chrono::milliseconds(50);
  const Clock::time_point begin = Clock::now();
  Clock::time_point now = begin;
  int asked = 0;
  StopCheck check([&] {
    ++asked;
    return false;
  });
  for (; now < begin + std::chrono::milliseconds(5); now = Clock::now()) check.stops();
  EXPECT_GE(asked, 1);
  EXPECT_LE(asked, 1 + (now - begin) / longest);
}

TEST(StopCheck, AsksNoMoreWhenItHasStopped) {
  int asked = 0;
  StopCheck check([&] {
    ++asked;
    return true;
  });
  EXPECT_FALSE(check.stopped());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(check.stops());
  EXPECT_TRUE(check.stopped());
  EXPECT_EQ(asked, 1);
}

TEST(Stopping, ShortRunsDoNotAsk) {
  const auto net = nn::mlp({4, 8, 2}, relu);
  const Executable executable = compile(bind(net.function(), net.init(Key(0))));
  StopCheck check([] {
    ADD_FAILURE();
    return true;
  });
  EXPECT_TRUE(executable(std::vector{nn::normal(1.0)(Key(3), {4})}, check));
  // By the plan's estimate, 4 milliseconds.
  const Type many{Dtype::kF32, {1 << 18}};
  const Executable longer = compile(trace("longer", {{"x", many}}, [](std::span<const Value> in) {
    Value x = in[0];
    for (int i = 0; i < 100; ++i) x = x * in[0];
    return std::vector<Value>{x};
  }));
  EXPECT_TRUE(longer(std::vector{Tensor::zeros(many)}, check));
  const Predictor predict(net.function(), net.init(Key(0)), {.most_rows = 16});
  EXPECT_TRUE(predict(std::vector{nn::normal(1.0)(Key(3), {16, 4})}, check));
}

}  // namespace
}  // namespace limpid
