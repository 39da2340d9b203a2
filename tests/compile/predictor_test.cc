// Predictor: for any number of rows, from any number of threads, the bits of each row alone.
#include "limpid/compile/predictor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "limpid/compile/packings.h"
#include "limpid/core/error.h"
#include "limpid/core/stop_check.h"
#include "limpid/formats/model.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "tests/compile/count_allocations.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr std::int64_t kMostRows = 70;

Tensor predictor_numbers(const Shape& shape, Key key) {
  return Tensor::generate<float>(shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = key.uniform(i) - 0.5f;
  });
}

struct PredictorNet {
  nn::Mlp mlp = nn::mlp({20, 33, 7}, gelu);
  Params params = mlp.init(Key(0));
  Function function = mlp.function();
  Tensor x = predictor_numbers({kMostRows, 20}, Key(1));
  Tensor expected = predict({function, params, ""}, x, nullptr, 1);  // row by row
};

Tensor first(const Predictor& predict, const Tensor& x) { return predict({x})[0]; }

TEST(Predictor, GivesTheBitsOfEachRowAlone) {
  const PredictorNet net;
  ThreadPool pool({.threads = 3});
  for (ThreadPool* shared : {static_cast<ThreadPool*>(nullptr), &pool})
    for (const std::int64_t most : {1, 8, 50, 256}) {
      const Predictor predict(
          net.function, net.params,
          {.most_rows = most, .pool = shared, .compile = {.nanoseconds_worth_sharing = 0}});
      for (std::int64_t n = 0; n <= kMostRows; ++n)
        EXPECT_TRUE(first(predict, net.x.rows(0, n)).same_bits(net.expected.rows(0, n)))
            << n << " rows, " << most << " at once";
    }
}

std::vector<std::int64_t> rows_of(const std::vector<Predictor::Plan>& plans) {
  std::vector<std::int64_t> rows;
  for (const Predictor::Plan& plan : plans) rows.push_back(plan.rows);
  return rows;
}

TEST(Predictor, TakesPlansOfPowersOfTwoAndThosePrepared) {
  const PredictorNet net;
  using Rows = std::vector<std::int64_t>;
  const auto plans_after = [&](const Rows& prepared, std::int64_t n) {
    Predictor predict(net.function, net.params, {.most_rows = 48});
    predict.prepare(prepared);
    (void)first(predict, net.x.rows(0, n));
    return rows_of(predict.plans());
  };
  EXPECT_EQ(plans_after({}, 1), Rows({1}));
  EXPECT_EQ(plans_after({}, 3), Rows({4}));     // one row of zeros
  EXPECT_EQ(plans_after({}, 5), Rows({1, 4}));  // not three
  EXPECT_EQ(plans_after({}, 30), Rows({32}));
  EXPECT_EQ(plans_after({}, 48), Rows({48}));
  EXPECT_EQ(plans_after({}, 69), Rows({1, 4, 16, 48}));  // 48 + 16 + 4 + 1
  EXPECT_EQ(plans_after({5}, 5), Rows({5}));
  EXPECT_EQ(plans_after({22}, 70), Rows({22, 48}));
}

TEST(Predictor, HoldsItsWeightsOnce) {
  const nn::Mlp mlp = nn::mlp({300, 800, 10}, relu);
  const Params params = mlp.init(Key(0));
  std::size_t weights = 0;
  for (const auto& [name, p] : params) weights += p.bytes().size();
  Predictor predict(mlp.function(), params);
  EXPECT_EQ(predict.bytes(), 0u);
  predict.prepare({1, 2, 4, 8, 16, 32, 64});
  std::size_t workspaces = 0;
  for (const Predictor::Plan& plan : predict.plans()) {
    EXPECT_EQ(plan.workspaces, 1);
    workspaces += plan.bytes;
  }
  EXPECT_EQ(predict.plans().size(), 7u);
  EXPECT_LT(static_cast<double>(predict.bytes() - workspaces), 1.15 * static_cast<double>(weights));
}

// Several inputs and outputs; one input is shared by all rows, and one holds the row's number.
TEST(Predictor, TakesInputsWithoutRows) {
  const Function f = trace("f",
                           {{"x", {Dtype::kF32, {4}}},
                            {"shift", {Dtype::kF32, {4}}},
                            {"i", {Dtype::kI32, {}}},
                            {"w", {Dtype::kF32, {4, 4}}}},
                           [](std::span<const Value> in) {
                             const Value y = tanh(linear(in[0] + in[1], in[3]));
                             return std::vector<Value>{y, gather(in[3], in[2]), mean(y)};
                           });
  const Tensor x = predictor_numbers({11, 4}, Key(1)), shift = predictor_numbers({4}, Key(2)),
               w = predictor_numbers({4, 4}, Key(3));
  const Tensor i = Tensor::generate<std::int32_t>({11}, [](std::span<std::int32_t> out) {
    for (std::size_t n = 0; n < out.size(); ++n) out[n] = static_cast<std::int32_t>(n % 4);
  });
  const Predictor predict(f, {{"w", w}}, {.most_rows = 4, .shared = {"shift"}});
  const std::vector<Tensor> all = predict({x, shift, i});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].shape(), Shape({11}));
  for (std::int64_t n = 0; n < 11; ++n) {
    const std::vector<Tensor> one = interpret(
        f, std::vector<Tensor>{x.rows(n, 1).reshape({4}), shift, i.rows(n, 1).reshape({}), w});
    for (std::size_t o = 0; o < one.size(); ++o)
      EXPECT_TRUE(all[o].rows(n, 1).reshape(one[o].shape()).same_bits(one[o])) << n << ' ' << o;
  }
}

// The number of rows is that of the first input that has rows.
TEST(Predictor, TakesAnInputWithoutRowsFirst) {
  const Type row{Dtype::kF32, {4}};
  const Function f = trace("f", {{"shift", row}, {"x", row}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] + in[1]};
  });
  const Tensor shift = predictor_numbers({4}, Key(2)), x = predictor_numbers({7, 4}, Key(1));
  const Predictor predict(f, {}, {.shared = {"shift"}});
  const Tensor all = predict({shift, x})[0];
  for (std::int64_t n = 0; n < 7; ++n)
    EXPECT_TRUE(all.rows(n, 1).reshape({4}).same_bits(
        interpret(f, std::vector{shift, x.rows(n, 1).reshape({4})})[0]));
}

// Where there are fewer rows than the plan has, they are copied, and zeros fill the rest.
TEST(Predictor, CountsTheMemoryOfRowsOfZeros) {
  const PredictorNet net;
  const Predictor predict(net.function, net.params);
  (void)first(predict, net.x.rows(0, 4));
  ASSERT_EQ(rows_of(predict.plans()), std::vector<std::int64_t>({4}));
  const std::size_t whole = predict.plans()[0].bytes;
  (void)first(predict, net.x.rows(0, 3));
  ASSERT_EQ(predict.plans().size(), 1u);
  EXPECT_EQ(predict.plans()[0].bytes, whole + 4 * (20 + 7) * sizeof(float));
}

// A plan that needs no memory has its workspace nevertheless.
TEST(Predictor, CountsAWorkspaceWithoutMemoryOnce) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {20}}}},
                           [](std::span<const Value> in) { return std::vector<Value>{-in[0]}; });
  const Predictor predict(f, {});
  const Tensor x = predictor_numbers({1, 20}, Key(1));
  for (int i = 0; i < 3; ++i) (void)first(predict, x);
  ASSERT_EQ(predict.plans().size(), 1u);
  EXPECT_EQ(predict.plans()[0].workspaces, 1);
}

// More elements than a number counts are refused, and nothing of the plan is left.
TEST(Predictor, HasNoPlanThatCannotBeMade) {
  constexpr std::int64_t kMany = std::int64_t{1} << 55;
  const PredictorNet net;
  Predictor predict(net.function, net.params, {.most_rows = kMany});
  expect_refused(ErrorCode::kShape, [&] { predict.prepare({kMany}); });
  EXPECT_EQ(predict.plans().size(), 0u);
}

TEST(Predictor, SharesThePackingsItIsGiven) {
  const PredictorNet net;
  const auto packings = std::make_shared<Packings>();
  Predictor one(net.function, net.params, {.compile = {.packings = packings}});
  one.prepare({1, 256});  // the most, too
  const std::size_t bytes = packings->bytes();
  EXPECT_GT(bytes, 0u);
  Predictor two(net.function, net.params, {.compile = {.packings = packings}});
  two.prepare({2});
  EXPECT_EQ(packings->bytes(), bytes);
}

TEST(Predictor, RunsFromManyThreadsAtOnce) {
  const PredictorNet net;
  ThreadPool pool({.threads = 2});
  for (ThreadPool* shared : {static_cast<ThreadPool*>(nullptr), &pool}) {
    const Predictor predict(net.function, net.params,
                            {.most_rows = 16, .pool = shared, .most_runs = shared ? 3 : 1});
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::int64_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (std::int64_t i = 0; i < 40; ++i) {
          const std::int64_t n = (t * 7 + i * 11) % kMostRows + 1;
          wrong += !first(predict, net.x.rows(kMostRows - n, n))
                        .same_bits(net.expected.rows(kMostRows - n, n));
        }
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    for (const Predictor::Plan& plan : predict.plans())
      EXPECT_LE(plan.workspaces, shared ? 3 : 1) << plan.rows;
  }
}

// A call that needs a plan while another compiles it waits for that: two at the same time allocate
// little more than one.
TEST(Predictor, CompilesAPlanOnce) {
  const nn::Mlp deep = nn::mlp(std::vector<std::int64_t>(16, 8), relu);
  const Function function = deep.function();
  const Params params = deep.init(Key(0));
  const Tensor x = predictor_numbers({4, 8}, Key(1));
  ThreadPool pool({.threads = 2});  // on a CPU each
  for (int round = 0; round < 3; ++round) {
    const Predictor alone(function, params), shared(function, params);
    std::size_t before = allocations();
    first(alone, x);
    const std::size_t of_one = allocations() - before;
    std::atomic<int> ready{0};
    auto call = [&] {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      first(shared, x);
    };
    before = allocations();
    pool.run(
        2, [](void* c, std::size_t, int) { (*static_cast<decltype(call)*>(c))(); }, &call);
    EXPECT_LT(allocations() - before, of_one + of_one / 2);
  }
}

// A call of two runs waits between them for a call of another thread. If only one run is allowed,
// that call waits for the first.
TEST(Predictor, RunsNoMoreCallsAtOnceThanAllowed) {
  const PredictorNet net;
  for (const int most : {1, 2}) {
    const Predictor predict(net.function, net.params, {.most_rows = 1, .most_runs = most});
    std::future<Tensor> other;
    bool ended = false;
    StopCheck check([&] {
      if (other.valid()) return false;
      other = std::async(std::launch::async, [&] { return first(predict, net.x.rows(5, 1)); });
      const auto longest = std::chrono::milliseconds(most == 1 ? 100 : 60'000);
      ended = other.wait_for(longest) == std::future_status::ready;
      return false;
    });
    EXPECT_TRUE(predict(std::vector{net.x.rows(0, 2)}, check));
    EXPECT_EQ(ended, most == 2);
    EXPECT_TRUE(other.get().same_bits(net.expected.rows(5, 1)));
  }
}

// A call during another call's run gets its own workspace. Both workspaces are kept.
TEST(Predictor, CountsTheMemoryOfEveryWorkspace) {
  constexpr std::int64_t kSize = 1024;
  const nn::Mlp mlp = nn::mlp({kSize, 4 * kSize, kSize}, relu);
  const Predictor predict(mlp.function(), mlp.init(Key(0)));
  const std::vector<Tensor> x{predictor_numbers({256, kSize}, Key(1))};
  predict(x);
  ASSERT_EQ(predict.plans().size(), 1u);
  const std::size_t one = predict.plans()[0].bytes;
  EXPECT_GT(one, 0u);
  bool asked = false;
  StopCheck check([&] {
    if (!std::exchange(asked, true)) predict(x);
    return false;
  });
  EXPECT_TRUE(predict(x, check));
  EXPECT_TRUE(asked);
  EXPECT_EQ(predict.plans()[0].workspaces, 2);
  EXPECT_EQ(predict.plans()[0].bytes, 2 * one);
}

TEST(Predictor, SaysWhatDoesNotFit) {
  const PredictorNet net;
  Predictor predict(net.function, net.params, {.most_rows = 8});
  const auto refused = [](const auto& code, ErrorCode kind = ErrorCode::kInvalidArgument) {
    expect_refused(kind, code);
  };
  const auto predicted = [&](const Tensor& x) { return [&predict, x] { predict({x}); }; };
  refused(predicted(predictor_numbers({3, 21}, Key(0))), ErrorCode::kShape);
  refused(predicted(predictor_numbers({20}, Key(0))), ErrorCode::kShape);
  refused(predicted(Tensor::scalar(1.0f)), ErrorCode::kShape);
  refused(predicted(Tensor::zeros({Dtype::kF64, {3, 20}})), ErrorCode::kDtype);
  refused([&] { predict(std::vector<Tensor>{}); });
  refused([&] { predict.prepare({9}); });
  refused([&] { predict.prepare({0}); });
  // Of many inputs it names a dozen.
  for (const int count : {2, 12, 13}) {
    std::vector<Input> inputs;
    for (int i = 0; i < count; ++i) inputs.push_back({"i" + std::to_string(i), {Dtype::kF32, {}}});
    const Predictor many(
        trace("many", inputs, [](std::span<const Value> in) { return std::vector<Value>{in[0]}; }),
        {});
    refused([&] { many(std::vector<Tensor>{}); });
  }
  refused([&] { const Predictor none(net.function, net.params, {.shared = {"x"}}); });
  // No row at once would never come to an end, and no run at once would wait for ever.
  for (const Predictor::Options& options :
       {Predictor::Options{.most_rows = 0, .most_runs = 2},
        {.most_rows = 3, .most_runs = 0},
        {.most_rows = 3, .most_runs = 1, .compile = {.donations = {{0, 0}}}}})
    refused([&] { const Predictor none(net.function, net.params, options); });
}

}  // namespace
}  // namespace limpid
