// ThreadPool: a few threads that share the tasks of one call. Its owner is the caller; the library
// makes none of its own. docs/decisions/0001-threads.md says why it is not a library's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace limpid {

class ThreadPool {
 public:
  // How many threads, and where they run.
  struct Options {
    // Threads that work at once, the caller of run() among them: threads - 1 are started.
    int threads = 1;
    // Gives every started thread a CPU of its own among those that the constructing thread may use,
    // the ones with the fewest threads of other pools, and moves it to the spare one when a caller
    // is found on its CPU. Without effect where there are fewer CPUs than threads.
    bool pin = true;
    // Keeps the constructing thread on a CPU of its own until the pool is destroyed. It is not
    // touched otherwise.
    bool pin_caller = false;
    // How long a thread without work looks for some before it sleeps; sleeping costs the next call
    // a wake-up of several microseconds. Taken as 0 where there are fewer CPUs than threads.
    std::chrono::microseconds spin{100};
  };

  // task(context, index, worker): worker is in [0, threads()), and no two tasks of one run() have
  // the same worker at the same time, so that it may index scratch memory. Must not throw.
  using Task = void (*)(void* context, std::size_t index, int worker);

  // Throws kInvalidArgument unless 1 <= options.threads <= kMaxThreads, kUnsupported where the
  // system refuses a thread.
  explicit ThreadPool(const Options& options);
  // Waits for the threads. No run() may be under way.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls task(context, i, worker) once for every i in [0, tasks), and returns when all are done.
  // Task i goes to worker i mod threads(), unless another is free before that one gets to it; the
  // caller is worker 0. A caller that finds the pool in use, by another thread or by the task that
  // it is part of, runs all of its tasks itself as worker 0. Allocates nothing, takes no lock.
  // Requires tasks < 2^32.
  void run(std::size_t tasks, Task task, void* context) noexcept;

  static constexpr int kMaxThreads = 1024;

 private:
  struct Lane;

  void work(int self);
  bool wait_for_work(Lane& lane);
  std::uint32_t drain(int self);
  bool run_one(int lane, int self);
  void finish(std::uint32_t done);
  void wait_for_the_others();
  void place_threads(const std::vector<int>& allowed, const Options& options);
  void keep_clear_of_caller();
  void stop();

  // Written once.
  int threads_;
  std::chrono::microseconds spin_;
  std::unique_ptr<Lane[]> lanes_;

  // The CPUs that other pools are to keep away from.
  std::vector<int> cpus_;
  // Where threads are: the lane on each CPU (0: none of ours), and the CPU left for the caller.
  // Empty unless pinned; used by the constructor and by the caller that holds busy_.
  std::vector<int> lane_on_cpu_;
  int spare_cpu_ = -1;
  class PinnedCaller;
  std::unique_ptr<PinnedCaller> pinned_caller_;

  // The call under way. Written by its caller while every lane is empty.
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false};
  std::atomic<Task> task_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<std::uint32_t> tasks_{0};
  // Its tasks that are not done.
  alignas(64) std::atomic<std::uint32_t> pending_{0};
};

}  // namespace limpid
