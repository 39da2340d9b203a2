// ThreadPool: threads that share the tasks of one call. The caller owns it; the library creates
// none of its own. docs/decisions/0001-threads.md gives the reasons.
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
  // The number of threads, and their CPUs.
  struct Options {
    // Number of threads, including the caller of run(): threads - 1 are started.
    int threads = 1;
    // Pins each started thread to its own CPU, among the CPUs that the constructing thread may use,
    // preferring those with the fewest threads of other pools. If a caller is found on the CPU of a
    // thread, the thread moves to a spare CPU. No effect if there are fewer CPUs than threads.
    bool pin = true;
    // Also pins the constructing thread to its own CPU until the pool is destroyed.
    bool pin_caller = false;
    // How long an idle thread spins before it sleeps. Waking it up costs the next call several
    // microseconds. Taken as 0 if there are fewer CPUs than threads.
    std::chrono::microseconds spin{100};
  };

  // task(context, index, worker): worker is in [0, threads()). Tasks of one run() that run at the
  // same time have different workers, so `worker` can index scratch memory. Must not throw.
  using Task = void (*)(void* context, std::size_t index, int worker);

  // Starts the threads. Throws kInvalidArgument unless 1 <= options.threads <= kMaxThreads,
  // kUnsupported if the system cannot start a thread.
  explicit ThreadPool(const Options& options);
  // Stops and joins the threads. No run() may be active.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls task(context, i, worker) once for every i in [0, tasks), and returns when all are done.
  // Task i is assigned to worker i mod threads(), but an idle worker may take it over; the caller
  // is worker 0. If the pool is already in use, by another thread or by an enclosing task, the
  // caller runs all tasks itself as worker 0. Allocates nothing, takes no lock. Requires tasks <
  // 2^32.
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
  void end();

  // Set by the constructor.
  int threads_;
  std::chrono::microseconds spin_;
  std::unique_ptr<Lane[]> lanes_;

  // The CPUs that other pools should avoid.
  std::vector<int> cpus_;
  // The lane on each CPU (0: none of this pool), and the CPU left for the caller. Empty unless
  // pinned; used by the constructor and by the caller that holds busy_.
  std::vector<int> lane_on_cpu_;
  int spare_cpu_ = -1;
  class PinnedCaller;
  std::unique_ptr<PinnedCaller> pinned_caller_;

  // The current call. Its caller writes this while every lane is empty.
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false};
  std::atomic<Task> task_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<std::uint32_t> tasks_{0};
  // The tasks of the current call that are not done.
  alignas(64) std::atomic<std::uint32_t> pending_{0};
};

}  // namespace limpid
