// Runs that are ended early: what is asked, when, and that nothing is left behind.
#include "limpid/core/stop_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "limpid/formats/file.h"
#include "limpid/formats/npy.h"
#include "limpid/function/interpret.h"
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

// ---- whatever a thread does

// Work that is asked to end at once, and, if it is long, in its middle: the first answer is then
// no.
template <class Work>
void expect_stopped(const Work& work, bool in_its_middle = false, int line = __builtin_LINE()) {
  bool ends = !in_its_middle;
  StopCheck check([&] { return std::exchange(ends, true); });
  const StopScope scope(check);
  EXPECT_THROW(work(), Stopped) << "line " << line;
}

TEST(StopScope, EndsWhatItsThreadDoes) {
  const Type type{Dtype::kF32, {4, 4}};
  const auto small = [&] {
    return trace("small", {{"x", type}}, [](std::span<const Value> in) {
      return std::vector<Value>{matmul(in[0], in[0])};
    });
  };
  const Function f = small();
  const std::vector<Tensor> x{nn::normal(1.0)(Key(1), {4, 4})};
  const Tensor bytes = Tensor::zeros({Dtype::kU8, {5 << 20}});
  expect_stopped(small);
  expect_stopped([&] { return vmap(f, {0}, 3); });
  expect_stopped([&] { return compile(f); });
  expect_stopped([&] { return interpret(f, x); });
  expect_stopped([&] { return hash(bytes); });
  const Function reference =
      trace("long", {{"x", {Dtype::kF32, {kSize, kSize}}}},
            [](std::span<const Value> in) { return std::vector<Value>{matmul(in[0], in[0])}; });
  expect_stopped([&] { return interpret(reference, square()); }, true);
  const Executable executable = compile(long_function());
  expect_stopped([&] { return executable(square()); });
  EXPECT_NO_THROW(compile(f)(x));
}

// A scope inside another counts alone, and what is not to be left half done has one without check.
TEST(StopScope, TheInnermostCounts) {
  StopCheck ends([] { return true; }), goes_on([] { return false; });
  const StopScope outer(ends);
  {
    const StopScope inner(goes_on);
    EXPECT_NO_THROW(throw_if_stopped());
    const StopScope none(nullptr);
    EXPECT_EQ(StopScope::check(), nullptr);
    EXPECT_NO_THROW(throw_if_stopped());
  }
  EXPECT_EQ(StopScope::check(), &ends);
  EXPECT_THROW(throw_if_stopped(), Stopped);
  std::thread([] { EXPECT_NO_THROW(throw_if_stopped()); }).join();
}

// They must not throw, on the calling thread either. Runs of plans are such tasks.
TEST_P(Stopping, TasksOfAPoolHaveNoScope) {
  ThreadPool pool({.threads = GetParam()});
  StopCheck check([] { return true; });
  const StopScope scope(check);
  std::atomic<int> done = 0;
  pool.run(
      5,
      [](void* count, std::size_t, int) {
        throw_if_stopped();
        ++*static_cast<std::atomic<int>*>(count);
      },
      &done);
  EXPECT_EQ(done, 5);
}

// A file is whole or as before, and no other is left.
TEST(StopScope, FilesAreWhole) {
  std::string pattern = (std::filesystem::temp_directory_path() / "limpid-stop-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern, path = folder / "file";
  const auto write = [&](std::string_view text) {
    const std::span<const std::byte> part = std::as_bytes(std::span(text));
    write_file_atomically(path, {&part, 1});
  };
  write("before");
  expect_stopped([&] { write("after"); });
  expect_stopped([&] { return read_file(path, 100); });
  expect_stopped([&] { save_npy(folder / "array.npy", Tensor::zeros({Dtype::kF32, {3}})); });
  const Tensor text = read_file(path, 100);
  EXPECT_EQ(std::memcmp(text.bytes().data(), "before", 6), 0);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  EXPECT_EQ(names, std::vector<std::string>{"file"});
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace limpid
