#include "limpid/serve/batcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <future>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "limpid/inspect/bit_hashes.h"

namespace limpid::serve {
namespace {

using Result = Batcher::Result;

// [rows, 2] of i32: row i of a job is {first + i, -(first + i)}.
Tensor rows_from(std::int32_t first, std::int64_t rows) {
  return Tensor::generate<std::int32_t>({rows, 2}, [&](std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int32_t value = first + static_cast<std::int32_t>(i / 2);
      out[i] = i % 2 == 0 ? value : -value;
    }
  });
}

// Gives its input back, after this.
Batcher::Runner giving_back(std::function<void(const Tensor&)> first) {
  return {.run =
              [first = std::move(first)](std::span<const Tensor> inputs) {
                first(inputs[0]);
                return std::vector<Tensor>{inputs[0]};
              },
          .outputs = {Type{Dtype::kI32, {2}}},
          .hash = hashes_of_numbers};
}

// Returns its input; records how many rows came together.
struct Echo {
  std::mutex mutex;
  std::vector<std::int64_t> batches;

  Batcher::Runner runner() {
    return giving_back([this](const Tensor& input) {
      const std::lock_guard lock(mutex);
      batches.push_back(input.shape()[0]);
    });
  }
};

// Blocks the first call until it is released, so that jobs queue up.
struct Gate {
  std::promise<void> entered, open;
  std::atomic<bool> first{true};

  void pass() {
    if (!first.exchange(false)) return;
    entered.set_value();
    open.get_future().wait();
  }
};

// What gives its input back once the gate is open.
Batcher::Runner behind(Gate& gate, Echo& echo) {
  Batcher::Runner runner = echo.runner();
  runner.run = [&gate, run = runner.run](std::span<const Tensor> inputs) {
    gate.pass();
    return run(inputs);
  };
  return runner;
}

std::future<Result> submit(Batcher& batcher, const std::shared_ptr<Batcher::Lane>& lane,
                           std::int32_t first, std::int64_t rows,
                           std::shared_ptr<Ticket> ticket = std::make_shared<Ticket>()) {
  auto promise = std::make_shared<std::promise<Result>>();
  std::future<Result> future = promise->get_future();
  EXPECT_TRUE(batcher.submit(lane, {rows_from(first, rows)}, rows, std::move(ticket),
                             [promise](Result result) { promise->set_value(std::move(result)); }));
  batcher.wake();
  return future;
}

TEST(Batcher, JobsThatWaitAreComputedTogether) {
  Echo echo;
  Gate gate;
  Batcher batcher({.max_batch = 8});
  const auto lane = batcher.lane(behind(gate, echo));
  auto held = submit(batcher, lane, 0, 1);
  gate.entered.get_future().wait();
  std::vector<std::future<Result>> jobs;
  for (std::int32_t i = 0; i < 6; ++i) jobs.push_back(submit(batcher, lane, 10 * i, 3));
  EXPECT_EQ(batcher.waiting(), 6);
  gate.open.set_value();
  for (std::int32_t i = 0; i < 6; ++i)
    EXPECT_TRUE(jobs[static_cast<std::size_t>(i)].get().outputs[0].same_bits(rows_from(10 * i, 3)));
  EXPECT_TRUE(held.get().outputs[0].same_bits(rows_from(0, 1)));
  // Whole jobs: two of three rows fit into eight.
  EXPECT_EQ(echo.batches, (std::vector<std::int64_t>{1, 6, 6, 6}));
}

// Their rows have other sizes.
TEST(Batcher, ALongJobHasAllOfItsOutputs) {
  Batcher batcher({.max_batch = 4});
  const auto lane = batcher.lane(
      {.run =
           [](std::span<const Tensor> inputs) {
             const auto rows = inputs[0].values<std::int32_t>();
             return std::vector<Tensor>{
                 Tensor::generate<std::int32_t>({inputs[0].shape()[0]},
                                                [&](std::span<std::int32_t> out) {
                                                  for (std::size_t i = 0; i < out.size(); ++i)
                                                    out[i] = rows[2 * i];
                                                }),
                 inputs[0]};
           },
       .outputs = {Type{Dtype::kI32, {}}, Type{Dtype::kI32, {2}}},
       .hash = hashes_of_numbers});
  const Result result = submit(batcher, lane, 100, 10).get();
  ASSERT_EQ(result.outputs.size(), 2u);
  EXPECT_TRUE(result.outputs[0].same_bits(
      Tensor::from<std::int32_t>({10}, {100, 101, 102, 103, 104, 105, 106, 107, 108, 109})));
  EXPECT_TRUE(result.outputs[1].same_bits(rows_from(100, 10)));
}

// Two workers, woken once: each lane's run waits for the other's.
TEST(Batcher, LanesThatWaitAreComputedBesideOneAnother) {
  Batcher batcher({.workers = 2, .max_delay = std::chrono::microseconds(1)});
  std::barrier both(2);
  const Batcher::Runner runner = giving_back([&](const Tensor&) { both.arrive_and_wait(); });
  std::promise<void> done[2];
  // A worker that starts later would look for itself.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (auto& one : done)
    EXPECT_TRUE(batcher.submit(batcher.lane(runner), {rows_from(1, 1)}, 1,
                               std::make_shared<Ticket>(),
                               [&](const Result&) { one.set_value(); }));
  batcher.wake();
  for (auto& one : done) one.get_future().wait();
}

TEST(Batcher, AJobBehindTheLastPieceOfAnotherHasItsOwnHash) {
  Echo echo;
  Gate gate;
  Batcher batcher({.max_batch = 4});
  const auto lane = batcher.lane(behind(gate, echo));
  auto long_job = submit(batcher, lane, 100, 6);
  gate.entered.get_future().wait();
  auto other = submit(batcher, lane, 7, 1);
  gate.open.set_value();
  const std::uint64_t of_long = long_job.get().input_hash, of_other = other.get().input_hash;
  EXPECT_EQ(echo.batches, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(of_long, submit(batcher, lane, 100, 6).get().input_hash);
  EXPECT_EQ(of_other, submit(batcher, lane, 7, 1).get().input_hash);
}

// Of its model, or of another one.
TEST(Batcher, BetweenThePiecesOfALongJobOthersHaveTheirTurn) {
  for (const bool of_another : {false, true}) {
    Echo echo, other;
    Gate gate;
    std::promise<std::size_t> batches_before;
    Batcher batcher({.max_batch = 4});
    const auto lane = batcher.lane(behind(gate, echo));
    auto held = submit(batcher, lane, 0, 1);
    gate.entered.get_future().wait();
    auto long_job = submit(batcher, lane, 100, 1001);
    ASSERT_TRUE(batcher.submit(of_another ? batcher.lane(other.runner()) : lane, {rows_from(7, 1)},
                               1, std::make_shared<Ticket>(), [&](const Result&) {
                                 const std::lock_guard lock(echo.mutex);
                                 batches_before.set_value(echo.batches.size());
                               }));
    gate.open.set_value();
    EXPECT_TRUE(long_job.get().outputs[0].same_bits(rows_from(100, 1001)));
    EXPECT_LE(batches_before.get_future().get(), 3);
  }
}

// Of a model, in the order of the jobs, and the rest of a long one comes after all others; of the
// models, one batch each.
TEST(Batcher, JobsAndModelsHaveTheirTurnInTheOrderInWhichTheyCame) {
  Echo echo;
  Gate gate;
  std::vector<std::int32_t> firsts;  // of each batch
  const auto noting = [&] {
    Batcher::Runner runner = behind(gate, echo);
    runner.run = [&, run = runner.run](std::span<const Tensor> inputs) {
      std::vector<Tensor> outputs = run(inputs);
      firsts.push_back(outputs[0].values<std::int32_t>()[0]);
      return outputs;
    };
    return runner;
  };
  Batcher batcher({.max_batch = 2});
  const auto a = batcher.lane(noting()), b = batcher.lane(noting()), c = batcher.lane(noting());
  std::vector<std::future<Result>> jobs;
  jobs.push_back(submit(batcher, a, 0, 1));
  gate.entered.get_future().wait();
  jobs.push_back(submit(batcher, a, 10, 3));
  jobs.push_back(submit(batcher, a, 20, 1));
  jobs.push_back(submit(batcher, b, 30, 1));
  jobs.push_back(submit(batcher, c, 40, 1));
  jobs.push_back(submit(batcher, a, 50, 2));
  gate.open.set_value();
  for (std::future<Result>& job : jobs) job.get();
  EXPECT_EQ(firsts, (std::vector<std::int32_t>{0, 10, 30, 40, 20, 50, 12}));
  EXPECT_EQ(echo.batches, (std::vector<std::int64_t>{1, 2, 1, 1, 1, 2, 1}));
}

TEST(Batcher, WhatNobodyWaitsForIsNotComputed) {
  Echo echo;
  Gate gate;
  Batcher batcher({.max_batch = 8});
  const auto lane = batcher.lane(behind(gate, echo));
  auto held = submit(batcher, lane, 0, 1);
  gate.entered.get_future().wait();
  const auto ticket = std::make_shared<Ticket>();
  auto dropped = submit(batcher, lane, 1, 5, ticket);
  auto kept = submit(batcher, lane, 2, 2);
  ticket->give_up();
  gate.open.set_value();
  EXPECT_TRUE(kept.get().outputs[0].same_bits(rows_from(2, 2)));
  EXPECT_THROW(dropped.get(), std::future_error);
  EXPECT_EQ(echo.batches, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(batcher.waiting(), 0);
}

// Two rows fill a batch; without a second one, the first waits for an hour.
TEST(Batcher, RowsThatNobodyWaitsForFillNoBatch) {
  Echo echo;
  Batcher batcher({.max_batch = 2, .max_delay = std::chrono::hours(1)});
  const auto lane = batcher.lane(echo.runner());
  const auto ticket = std::make_shared<Ticket>();
  auto dropped = submit(batcher, lane, 0, 1, ticket);
  ticket->give_up();
  submit(batcher, lane, 1, 2).get();
  auto first = submit(batcher, lane, 5, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // enough to begin too early
  submit(batcher, lane, 6, 1).get();
  first.get();
  EXPECT_EQ(echo.batches, (std::vector<std::int64_t>{2, 2}));
}

TEST(Batcher, AJobThatFailedIsComputedNoFurther) {
  std::vector<std::int32_t> begun;
  Batcher batcher({.max_batch = 4});
  const auto lane = batcher.lane(giving_back([&](const Tensor& x) {
    begun.push_back(x.values<std::int32_t>()[0]);
    if (begun.back() >= 100) throw std::runtime_error("a hundred");
  }));
  EXPECT_THROW(std::rethrow_exception(submit(batcher, lane, 100, 12).get().error),
               std::runtime_error);
  EXPECT_TRUE(submit(batcher, lane, 7, 1).get().outputs[0].same_bits(rows_from(7, 1)));
  EXPECT_EQ(begun, (std::vector<std::int32_t>{100, 7}));
}

TEST(Batcher, SaysHowLongAJobWaitedAndWasComputed) {
  constexpr std::chrono::milliseconds kPause{5};
  const double pause = std::chrono::duration<double>(kPause).count();
  Echo echo;
  Gate gate;
  Batcher batcher({.max_batch = 1});
  Batcher::Runner runner = behind(gate, echo);
  runner.run = [&, run = runner.run](std::span<const Tensor> inputs) {
    std::this_thread::sleep_for(kPause);
    return run(inputs);
  };
  const auto lane = batcher.lane(runner);
  auto computed = submit(batcher, lane, 0, 1);
  gate.entered.get_future().wait();
  auto waited = submit(batcher, lane, 1, 1);
  std::this_thread::sleep_for(kPause);
  gate.open.set_value();
  EXPECT_GE(computed.get().compute_seconds, pause);
  EXPECT_GE(waited.get().queue_seconds, pause);
}

TEST(Batcher, AFullQueueTakesNoMore) {
  Echo echo;
  Gate gate;
  Batcher batcher({.max_batch = 8, .max_queue = 2});
  const auto lane = batcher.lane(behind(gate, echo));
  auto held = submit(batcher, lane, 0, 1);
  gate.entered.get_future().wait();
  auto first = submit(batcher, lane, 1, 1);
  EXPECT_FALSE(batcher.full());
  auto second = submit(batcher, lane, 2, 1);
  EXPECT_TRUE(batcher.full());
  EXPECT_FALSE(
      batcher.submit(lane, {rows_from(3, 1)}, 1, std::make_shared<Ticket>(), [](const Result&) {}));
  gate.open.set_value();
  first.wait();
  second.wait();
  EXPECT_TRUE(submit(batcher, lane, 4, 1).get().outputs[0].same_bits(rows_from(4, 1)));
}

TEST(Batcher, WhatNobodyWaitsForFillsNoQueue) {
  Echo echo;
  Gate gate;
  Batcher batcher({.max_batch = 8, .max_queue = 2});
  const auto lane = batcher.lane(behind(gate, echo));
  const auto other = batcher.lane(echo.runner());
  auto held = submit(batcher, lane, 0, 1);
  gate.entered.get_future().wait();
  const auto left = std::make_shared<Ticket>();
  submit(batcher, lane, 1, 1, left);
  submit(batcher, other, 2, 1, left);
  left->give_up();
  auto first = submit(batcher, other, 3, 1);
  auto second = submit(batcher, lane, 4, 1);
  EXPECT_EQ(batcher.waiting(), 2);
  gate.open.set_value();
  EXPECT_TRUE(first.get().outputs[0].same_bits(rows_from(3, 1)));
  EXPECT_TRUE(second.get().outputs[0].same_bits(rows_from(4, 1)));
}

// Of two workers a model has one: what it takes long for does not hold up others.
TEST(Batcher, ASlowModelLeavesAWorkerToOthers) {
  Echo echo;
  Gate gate;
  Batcher batcher({.workers = 2, .max_batch = 1});
  const auto slow = batcher.lane(behind(gate, echo));
  const auto fast = batcher.lane(echo.runner());
  auto first = submit(batcher, slow, 0, 1);
  gate.entered.get_future().wait();
  auto second = submit(batcher, slow, 1, 1);
  EXPECT_TRUE(submit(batcher, fast, 2, 1).get().outputs[0].same_bits(rows_from(2, 1)));
  EXPECT_EQ(batcher.waiting(), 1);
  gate.open.set_value();
  EXPECT_TRUE(second.get().outputs[0].same_bits(rows_from(1, 1)));
}

TEST(Batcher, AnErrorIsTheAnswerOfItsJobAlone) {
  Gate gate;
  Batcher batcher({.max_batch = 8});
  const auto lane = batcher.lane(giving_back([&](const Tensor& input) {
    gate.pass();
    for (const std::int32_t x : input.values<std::int32_t>())
      if (x == 13) throw std::runtime_error("thirteen");
  }));
  auto held = submit(batcher, lane, 0, 1);
  gate.entered.get_future().wait();
  auto good = submit(batcher, lane, 1, 1), bad = submit(batcher, lane, 13, 1),
       other = submit(batcher, lane, 20, 1);
  gate.open.set_value();
  EXPECT_TRUE(good.get().outputs[0].same_bits(rows_from(1, 1)));
  EXPECT_TRUE(other.get().outputs[0].same_bits(rows_from(20, 1)));
  EXPECT_THROW(std::rethrow_exception(bad.get().error), std::runtime_error);
}

// Its two pieces fail at the same time.
TEST(Batcher, AnErrorOfAJobIsToldOnce) {
  std::atomic<int> told{0};
  std::barrier both(2);
  {
    Batcher batcher({.workers = 3, .max_batch = 1, .max_delay = std::chrono::microseconds(1)});
    const auto lane = batcher.lane(giving_back([&](const Tensor&) {
      both.arrive_and_wait();
      throw std::runtime_error("both");
    }));
    ASSERT_TRUE(batcher.submit(lane, {rows_from(0, 2)}, 2, std::make_shared<Ticket>(),
                               [&](const Result&) { ++told; }));
    batcher.wake();
    while (told == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(told, 1);
}

TEST(Batcher, ManyJobsOfManyModelsOnManyWorkersGetTheirOwnRows) {
  Echo a, b;
  Batcher batcher({.workers = 3, .max_batch = 5, .max_queue = 100'000});
  const std::shared_ptr<Batcher::Lane> lanes[] = {batcher.lane(a.runner()),
                                                  batcher.lane(b.runner())};
  std::mt19937 draw(1);
  struct Asked {
    std::int32_t first;
    std::int64_t rows;
    std::future<Result> result;
  };
  std::vector<Asked> asked;
  for (std::int32_t i = 0; i < 3000; ++i) {
    const std::int64_t rows = static_cast<std::int64_t>(draw() % 12);
    asked.push_back({100 * i, rows, submit(batcher, lanes[draw() % 2], 100 * i, rows)});
  }
  for (Asked& one : asked) {
    const Result result = one.result.get();
    const Tensor rows = rows_from(one.first, one.rows);
    EXPECT_TRUE(result.outputs[0].same_bits(rows));
    EXPECT_EQ(result.input_hash, hash_of_numbers(rows));
  }
}

// Runs `body`, and records the thread.
Batcher::Runner noting_threads(std::set<std::thread::id>& threads,
                               const std::function<void()>& body) {
  auto mutex = std::make_shared<std::mutex>();
  return giving_back([&threads, mutex, body](const Tensor&) {
    body();
    const std::lock_guard lock(*mutex);
    threads.insert(std::this_thread::get_id());
  });
}

// An earlier batch shows that it is brief; on a busy machine the first one may not be.
TEST(Batcher, BriefBatchesAreComputedByTheThreadThatAsks) {
  std::set<std::thread::id> threads;
  Batcher batcher({.max_batch = 8});
  const auto lane = batcher.lane(noting_threads(threads, [] {}));
  for (std::int32_t i = 0; i < 10'000 && !threads.contains(std::this_thread::get_id()); ++i)
    EXPECT_TRUE(submit(batcher, lane, i, 1).get().outputs[0].same_bits(rows_from(i, 1)));
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
}

TEST(Batcher, LongOnesAreNot) {
  std::set<std::thread::id> threads;
  Batcher batcher({.max_batch = 8});
  const auto lane = batcher.lane(
      noting_threads(threads, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }));
  for (std::int32_t i = 0; i < 20; ++i) submit(batcher, lane, i, 1).get();
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

// A round may be long: the batch that is full begins before wake().
TEST(Batcher, AFullBatchBeginsAtOnce) {
  Echo echo;
  Batcher batcher({.max_batch = 2, .max_delay = std::chrono::hours(1)});
  const auto lane = batcher.lane(echo.runner());
  std::vector<std::promise<Result>> promises(2);
  for (std::promise<Result>& promise : promises) {
    // Let the worker wait for more, as it does in a server: then it has to be woken.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(
        batcher.submit(lane, {rows_from(1, 1)}, 1, std::make_shared<Ticket>(),
                       [&promise](Result result) { promise.set_value(std::move(result)); }));
  }
  for (std::promise<Result>& promise : promises)
    EXPECT_EQ(promise.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(echo.batches, std::vector<std::int64_t>{2});
}

TEST(Batcher, ItsRowsAreCounted) {
  std::vector<std::int64_t> counted;
  Echo echo;
  Gate gate;
  Batcher batcher({.max_batch = 8});
  Batcher::Runner runner = behind(gate, echo);
  runner.on_batch = [&](std::int64_t rows) { counted.push_back(rows); };
  const auto lane = batcher.lane(runner);
  auto held = submit(batcher, lane, 0, 1);
  gate.entered.get_future().wait();
  auto first = submit(batcher, lane, 1, 3), second = submit(batcher, lane, 2, 2);
  gate.open.set_value();
  held.wait();
  first.wait();
  second.wait();
  EXPECT_EQ(counted, (std::vector<std::int64_t>{1, 5}));
}

// A model owns its lane, and a job its model.
TEST(Batcher, DropsTheModelsOfJobsThatWait) {
  struct Served {
    Echo echo;
    std::shared_ptr<Batcher::Lane> lane;
  };
  std::weak_ptr<Served> left;
  {
    Batcher batcher({.max_batch = 100, .max_delay = std::chrono::hours(1)});
    const auto model = std::make_shared<Served>();
    left = model;
    model->lane = batcher.lane(model->echo.runner());
    ASSERT_TRUE(batcher.submit(model->lane, {rows_from(0, 1)}, 1, std::make_shared<Ticket>(),
                               [model](const Result&) {}));
  }
  EXPECT_TRUE(left.expired());
}

TEST(Batcher, EndsWithJobsThatWait) {
  Echo echo;
  std::future<Result> dropped;
  {
    Batcher batcher({.max_batch = 100, .max_delay = std::chrono::hours(1)});
    dropped = submit(batcher, batcher.lane(echo.runner()), 0, 1);
  }
  EXPECT_THROW(dropped.get(), std::future_error);
}

}  // namespace
}  // namespace limpid::serve
