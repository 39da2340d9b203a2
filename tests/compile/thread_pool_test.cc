// The pool runs every task once, allocates nothing while it does, sleeps when idle, and is safe to
// call from anywhere. Built for the thread sanitizer as well.
#include "limpid/compile/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "limpid/core/detail/sanitized.h"
#include "limpid/core/error.h"
#include "tests/compile/count_allocations.h"
#include "tests/memory_limit.h"
#include "tests/refusals.h"

#ifdef __linux__
#include <sched.h>
#include <signal.h>
#endif

namespace limpid {
namespace {

using namespace std::chrono_literals;

// Runs a callable as tasks (index, worker).
template <class F>
void run(ThreadPool& pool, std::size_t tasks, F task) {
  pool.run(
      tasks, [](void* f, std::size_t i, int worker) { (*static_cast<F*>(f))(i, worker); }, &task);
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 4, 8}) {
    ThreadPool pool({.threads = threads});
    EXPECT_EQ(pool.threads(), threads);
    for (std::size_t tasks = 0; tasks < 70; ++tasks) {
      std::vector<std::atomic<int>> calls(tasks);
      run(pool, tasks, [&](std::size_t i, int worker) {
        calls[i].fetch_add(1, std::memory_order_relaxed);
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, threads);
      });
      for (const std::atomic<int>& c : calls) EXPECT_EQ(c.load(), 1);
    }
  }
}

TEST(ThreadPool, ManyShortCallsKeepTheirTasksApart) {
  ThreadPool pool({.threads = 3, .spin = 20us});
  std::vector<std::uint32_t> out(7);
  for (std::uint32_t call = 0; call < 20000; ++call) {
    // Plain writes: the end of run() must order them before these reads.
    const std::size_t tasks = 2 + call % 6;
    run(pool, tasks,
        [&](std::size_t i, int) { out[i] = call * 8 + static_cast<std::uint32_t>(i); });
    for (std::size_t i = 0; i < tasks; ++i) ASSERT_EQ(out[i], call * 8 + i);
  }
}

TEST(ThreadPool, AWorkerHasOneTaskAtATime) {
  ThreadPool pool({.threads = 4});
  std::vector<int> scratch(4, 0);  // plain: two tasks at once on it are a race
  for (int call = 0; call < 200; ++call)
    run(pool, 64, [&](std::size_t, int worker) { ++scratch[static_cast<std::size_t>(worker)]; });
  int total = 0;
  for (const int s : scratch) total += s;
  EXPECT_EQ(total, 200 * 64);
}

TEST(ThreadPool, ACallInsideATaskRunsInline) {
  ThreadPool pool({.threads = 3});
  std::atomic<int> inner{0};
  std::atomic<int> inner_workers{0};
  run(pool, 6, [&](std::size_t, int) {
    const std::thread::id self = std::this_thread::get_id();
    run(pool, 5, [&](std::size_t, int worker) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      inner.fetch_add(1);
      inner_workers.fetch_add(worker);
    });
  });
  EXPECT_EQ(inner.load(), 30);
  EXPECT_EQ(inner_workers.load(), 0);
}

TEST(ThreadPool, CallersFromSeveralThreads) {
  ThreadPool pool({.threads = 2});
  std::vector<std::thread> callers;
  std::atomic<int> total{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int call = 0; call < 500; ++call) {
        std::vector<int> out(9, 0);
        run(pool, out.size(), [&](std::size_t i, int) { ++out[i]; });
        for (const int o : out) total.fetch_add(o);
      }
    });
  for (std::thread& c : callers) c.join();
  EXPECT_EQ(total.load(), 4 * 500 * 9);
}

TEST(ThreadPool, WakesAfterSleep) {
  for (const auto spin : {0us, 50us}) {
    ThreadPool pool({.threads = 4, .spin = spin});
    for (int call = 0; call < 30; ++call) {
      std::this_thread::sleep_for(300us);
      std::atomic<int> done{0};
      run(pool, 8, [&](std::size_t, int) { done.fetch_add(1); });
      EXPECT_EQ(done.load(), 8);
    }
  }
}

TEST(ThreadPool, TheCallerSleepsWhileOthersWork) {
  ThreadPool pool({.threads = 2, .spin = 0us});
  std::atomic<bool> other_has_one{false};
  int done = 0;
  // The caller's own task returns at once when the other thread holds the second.
  run(pool, 2, [&](std::size_t, int worker) {
    if (worker == 0) {
      const auto end = std::chrono::steady_clock::now() + 1s;
      while (!other_has_one.load() && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    } else {
      other_has_one.store(true);
      std::this_thread::sleep_for(20ms);
      done = 1;
    }
  });
  EXPECT_TRUE(!other_has_one.load() || done == 1);
}

TEST(ThreadPool, UsesItsThreads) {
  for (const auto spin : {100us, 0us}) {
    ThreadPool pool({.threads = 2, .spin = spin});
    for (int round = 0; round < 2; ++round) {
      std::this_thread::sleep_for(20ms);  // the other thread sleeps, too
      // Each task waits for the other one: both must run at once. In the first call, as each call
      // ends with a signal that may wake a thread by chance.
      std::atomic<int> inside{0};
      std::atomic<bool> met{true};
      run(pool, 2, [&](std::size_t, int) {
        inside.fetch_add(1);
        const auto end = std::chrono::steady_clock::now() + 10s;
        while (inside.load() < 2 && std::chrono::steady_clock::now() < end)
          std::this_thread::yield();
        if (inside.load() < 2) met.store(false);
      });
      EXPECT_TRUE(met.load()) << round;
    }
  }
}

// Wherever a thread is held up, another one takes the tasks that it still has.
TEST(ThreadPool, TasksOfAThreadThatIsHeldUpAreTaken) {
  ThreadPool pool({.threads = 2});
  std::atomic<bool> last{false}, seen{true};
  // Tasks 1 and 3 belong to the same thread.
  run(pool, 4, [&](std::size_t i, int) {
    if (i == 3) last.store(true);
    if (i != 1) return;
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!last.load() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    seen.store(last.load());
  });
  EXPECT_TRUE(seen.load());
}

TEST(ThreadPool, AllocatesNothing) {
  ThreadPool pool({.threads = 3});
  std::atomic<int> done{0};
  auto task = [&](std::size_t, int) { done.fetch_add(1); };
  run(pool, 16, task);
  const std::size_t before = allocations();
  for (int call = 0; call < 100; ++call) run(pool, 16, task);
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(done.load(), 101 * 16);
}

TEST(ThreadPool, AnIdlePoolBurnsNoTime) {
  ThreadPool pool({.threads = 4, .spin = 100us});
  run(pool, 8, [](std::size_t, int) {});
  std::this_thread::sleep_for(20ms);
  const std::clock_t before = std::clock();  // of the process, all threads
  std::this_thread::sleep_for(200ms);
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(used, 0.05);
}

TEST(ThreadPool, RefusesOtherNumbersOfThreads) {
  for (const int threads : {0, -1, ThreadPool::kMaxThreads + 1}) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { ThreadPool pool({.threads = threads}); });
  }
}

// Whether 2^-149 * 1 survives and 1 + 2^-24 rounds to even on this thread.
bool default_arithmetic() {
  volatile float tiny = std::numeric_limits<float>::denorm_min();
  volatile float one = 1.0f;
  volatile float ulp_half = 0x1p-24f;
  return tiny * one != 0.0f && one + ulp_half == 1.0f;
}

TEST(ThreadPool, ThreadsKeepSubnormalsAndRoundToNearest) {
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(FE_UPWARD);
#ifdef __x86_64__
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // flush to zero, denormals are zero
#endif
  EXPECT_FALSE(default_arithmetic());
  {
    ThreadPool pool({.threads = 3});
    std::atomic<int> others{0};
    for (int attempt = 0; attempt < 1000 && others.load() == 0; ++attempt)
      run(pool, 30, [&](std::size_t, int worker) {
        if (worker == 0) {
          std::this_thread::sleep_for(10us);
          return;
        }
        others.fetch_add(1);
        EXPECT_TRUE(default_arithmetic());
      });
    EXPECT_GT(others.load(), 0);
  }
  std::fesetenv(&before);
}

#ifdef __linux__

#if !LIMPID_SANITIZED
// There is room for the stacks of a few threads.
TEST(ThreadPool, SaysThatTheSystemCannotStartIt) {
  std::string refusal;
  {
    const MemoryLimit limit(std::uint64_t{64} << 20);
    try {
      const ThreadPool pool({.threads = ThreadPool::kMaxThreads});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
      refusal = e.what();
    }
  }
  EXPECT_EQ(refusal.find("the system cannot start a pool of 1024 threads: "), 0u) << refusal;
}
#endif

// Signals are for the program's own threads, such as this one.
TEST(ThreadPool, ThreadsTakeNoSignals) {
  ThreadPool pool({.threads = 2});
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_FALSE(sigismember(&own, SIGINT) || sigismember(&own, SIGTERM));
  std::atomic<int> taken{-1};
  for (int attempt = 0; attempt < 1000 && taken.load() < 0; ++attempt)
    run(pool, 8, [&](std::size_t, int worker) {
      if (worker == 0) {
        std::this_thread::sleep_for(10us);
        return;
      }
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      taken.store(!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM));
    });
  EXPECT_EQ(taken.load(), 0);
}

int allowed_cpus() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

TEST(ThreadPool, PinsItsThreadsAndLeavesTheCallerAlone) {
  const int cpus = allowed_cpus();
  if (cpus < 2) GTEST_SKIP() << "one CPU";
  for (const bool pin : {true, false}) {
    ThreadPool pool({.threads = 2, .pin = pin});
    EXPECT_EQ(allowed_cpus(), cpus);
    std::atomic<int> seen{0};
    for (int attempt = 0; attempt < 1000 && seen.load() == 0; ++attempt)
      run(pool, 8, [&](std::size_t, int worker) {
        if (worker == 1)
          seen.store(allowed_cpus());
        else
          std::this_thread::sleep_for(10us);
      });
    EXPECT_EQ(seen.load(), pin ? 1 : cpus);
  }
}

// The CPUs of this process's threads that have one each, `count` of them. A thread that was joined
// may be listed for a moment longer.
std::vector<int> cpus_of_pinned_threads(std::size_t count) {
  for (;;) {
    std::vector<int> cpus;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      cpu_set_t set;
      if (sched_getaffinity(std::stoi(task.path().filename()), sizeof set, &set) != 0) continue;
      for (int cpu = 0; CPU_COUNT(&set) == 1 && cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    std::sort(cpus.begin(), cpus.end());
    if (cpus.size() == count) return cpus;
    std::this_thread::sleep_for(1ms);
  }
}

TEST(ThreadPool, KeepsClearOfOtherPools) {
  if (allowed_cpus() < 2) GTEST_SKIP() << "one CPU";
  for (int round = 0; round < 3; ++round) {  // CPUs of destroyed pools are used again
    std::vector<int> alone;
    for (int pools = 0; pools < 2; ++pools) {
      const ThreadPool only({.threads = 2});
      const std::vector<int> its = cpus_of_pinned_threads(1);
      EXPECT_TRUE(pools == 0 || its == alone) << "another CPU, though that one is free";
      alone = its;
    }
    const ThreadPool first({.threads = 2}), second({.threads = 2});
    const std::vector<int> cpus = cpus_of_pinned_threads(2);
    EXPECT_NE(cpus[0], cpus[1]);
  }
}

TEST(ThreadPool, PinsTheCallerWhenAsked) {
  const int cpus = allowed_cpus();
  if (cpus < 2) GTEST_SKIP() << "one CPU";
  {
    ThreadPool pool({.threads = 2, .pin_caller = true});
    EXPECT_EQ(allowed_cpus(), 1);
  }
  EXPECT_EQ(allowed_cpus(), cpus);
  {
    // The caller alone.
    ThreadPool pool({.threads = 2, .pin = false, .pin_caller = true});
    EXPECT_EQ(allowed_cpus(), 1);
    EXPECT_EQ(cpus_of_pinned_threads(1).size(), 1u);
  }
  EXPECT_EQ(allowed_cpus(), cpus);
  // Whichever thread ends it.
  auto pool = std::make_unique<ThreadPool>(ThreadPool::Options{.threads = 2, .pin_caller = true});
  EXPECT_EQ(allowed_cpus(), 1);
  std::thread([&] { pool.reset(); }).join();
  EXPECT_EQ(allowed_cpus(), cpus);
}

// Wherever the caller runs, the other thread is on another CPU.
TEST(ThreadPool, KeepsClearOfTheCaller) {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one CPU";
  ThreadPool pool({.threads = 2});
  for (int round = 0; round < 6; ++round)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &all)) continue;
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(cpu, &only);
      ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
      for (int call = 0; call < 2; ++call) {  // and stays there
        std::atomic<int> other{-1};
        for (int attempt = 0; attempt < 1000 && other.load() < 0; ++attempt)
          run(pool, 8, [&](std::size_t, int worker) {
            if (worker == 1)
              other.store(sched_getcpu());
            else
              std::this_thread::sleep_for(10us);
          });
        EXPECT_NE(other.load(), cpu);
        EXPECT_GE(other.load(), 0);
      }
    }
  sched_setaffinity(0, sizeof all, &all);
}

#endif

}  // namespace
}  // namespace limpid
