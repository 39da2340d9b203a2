// Far more threads than CPUs: pools of 64 threads start and stop, many Executables share them, and
// the bits are those of one thread.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "limpid/limpid.h"
#include "tests/laws/laws.h"
#include "tests/laws/random_function.h"
#include "tests/laws/random_values.h"

namespace limpid::hosts {
namespace {

constexpr int kThreads = 64;

TEST(Pools, Of64ThreadsStartWorkAndStop) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool({.threads = kThreads});
    if (round % 2 == 0) continue;  // destroyed before its threads have started
    std::vector<std::atomic<int>> calls(1000);
    pool.run(
        calls.size(),
        [](void* context, std::size_t i, int) {
          (*static_cast<std::vector<std::atomic<int>>*>(context))[i].fetch_add(1);
        },
        &calls);
    for (const std::atomic<int>& c : calls) ASSERT_EQ(c.load(), 1);
  }
}

TEST(Pools, Of64ThreadsInSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> total{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      ThreadPool pool({.threads = kThreads});
      for (int call = 0; call < 20; ++call)
        pool.run(
            100,
            [](void* context, std::size_t, int) {
              static_cast<std::atomic<int>*>(context)->fetch_add(1);
            },
            &total);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(total.load(), 8 * 20 * 100);
}

// The results of a Function with every step split among 64 threads.
TEST(Pools, RandomFunctionsHaveTheBitsOfOneThread) {
  ThreadPool pool({.threads = kThreads});
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Function f = laws::random_function(Key(seed), 12);
    const std::vector<Tensor> in = random_inputs(f, Key(seed));
    for (const kernels::Isa isa : kernels::available_isas()) {
      const Executable executable = compile(f, {.isa = isa, .nanoseconds_worth_sharing = 0});
      EXPECT_EQ(laws::difference(executable(in, &pool), executable(in)), "")
          << seed << ", " << name(isa) << "\n"
          << laws::short_text(f);
    }
  }
}

TEST(Pools, ATrainingStepHasTheBitsOfOneThread) {
  const auto net = nn::mlp({30, 200, 10}, relu, 0.1);
  const Params params = net.init(Key(0));
  const optim::Adam adam;
  auto loss = [&](const Args& p, Value x, Value y, Value key) {
    return cross_entropy(net(p, x, key), y);
  };
  const Tensor x = digits(Key(1), 64).inputs.reshape({64 * 784}).rows(0, 64 * 30).reshape({64, 30});
  const Tensor y = digits(Key(1), 64).targets;
  ThreadPool pool({.threads = kThreads});
  std::vector<Params> after;
  for (ThreadPool* const p : {static_cast<ThreadPool*>(nullptr), &pool}) {
    auto step = compile(optim::step(loss, adam), p);
    Params now = params, state = adam.init(params);
    Tensor value;
    for (std::uint64_t i = 0; i < 5; ++i)
      std::tie(now, state, value) = step(now, state, 0.01, x, y, Key(i));
    after.push_back(now);
  }
  for (const auto& [name, p] : after[0]) EXPECT_TRUE(p.same_bits(after[1].at(name))) << name;
}

// Sixty-four threads of a program, each with Workspaces of its own, all with the same pool.
TEST(Pools, ManyExecutablesAtOnceHaveTheBitsOfOneThread) {
  struct Case {
    Executable executable;
    std::vector<Tensor> in, expected;
  };
  std::vector<Case> cases;
  for (std::uint64_t seed = 100; seed < 108; ++seed) {
    const Function f = laws::random_function(Key(seed), 12);
    const std::vector<Tensor> in = random_inputs(f, Key(seed));
    const Executable executable = compile(f, {.nanoseconds_worth_sharing = 0});
    cases.push_back({executable, in, executable(in)});
  }
  ThreadPool pool({.threads = kThreads});
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t run = 0; run < 16; ++run) {
        const Case& c = cases[(t + run) % cases.size()];
        wrong[t] +=
            laws::difference(c.executable(c.in, run % 2 == 0 ? &pool : nullptr), c.expected);
      }
    });
  for (std::thread& t : threads) t.join();
  for (const std::string& w : wrong) EXPECT_EQ(w, "");
}

}  // namespace
}  // namespace limpid::hosts
