// The pool hands out tasks by lanes, one per thread. A lane counts the tasks that it still holds.
// Its thread takes from its own lane first, so that the same thread works on the same data in every
// call, and then from the lanes of threads that are late. A thread that sleeps or is preempted thus
// delays only itself.
#include "limpid/compile/thread_pool.h"

#include <algorithm>
#include <cfenv>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>

#include "limpid/core/detail/blocked_signals.h"
#include "limpid/core/error.h"
#include "limpid/core/stop_check.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

namespace limpid {
namespace {

using Clock = std::chrono::steady_clock;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls until `found` returns true or the time is over.
template <class Condition>
bool spin_until(const Condition& found, std::chrono::microseconds time) {
  if (found()) return true;
  if (time.count() == 0) return false;
  const Clock::time_point end = Clock::now() + time;
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      if (found()) return true;
    }
  } while (Clock::now() < end);
  return false;
}

// The low half of Lane::tickets.
std::uint32_t left(std::uint64_t tickets) { return static_cast<std::uint32_t>(tickets); }

}  // namespace

// One cache line: opening a lane, looking at it and taking from it touch no other.
struct alignas(64) ThreadPool::Lane {
  // The number of the call in the upper half, the tasks not yet taken in the lower. A successful
  // compare-exchange from left > 0 proves that the call was still under way, hence that task_,
  // context_ and tasks_, read before it, were this call's.
  std::atomic<std::uint64_t> tickets{0};
  std::atomic<std::uint32_t> asleep{0};
  std::thread thread;
};

namespace {

#ifdef __linux__

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

int current_cpu() { return sched_getcpu(); }

// If the system refuses, only speed is lost; so too below.
void move(std::thread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  (void)pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
}

#else

std::vector<int> allowed_cpus() {
  std::vector<int> cpus(std::thread::hardware_concurrency());
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}
int current_cpu() { return -1; }
void move(std::thread&, int) {}

#endif

// Divides the CPUs among all pools of the process, which do not know of each other.
class SharedCpus {
 public:
  // `count` CPUs of `allowed`, those with the fewest threads. The first is the caller's.
  std::vector<int> take(std::vector<int> allowed, std::size_t count) {
    const std::lock_guard lock(mutex_);
    std::rotate(allowed.begin(), allowed.begin() + 1, allowed.end());
    std::stable_sort(allowed.begin(), allowed.end(),
                     [&](int a, int b) { return load_[a] < load_[b]; });
    allowed.resize(count);
    std::rotate(allowed.begin(), allowed.end() - 1, allowed.end());
    add(allowed, 1);
    return allowed;
  }
  void give_back(const std::vector<int>& cpus) {
    const std::lock_guard lock(mutex_);
    add(cpus, -1);
  }

  static SharedCpus& of_process() {
    static SharedCpus cpus;
    return cpus;
  }

 private:
  // A caller uses its CPU only at times.
  void add(const std::vector<int>& cpus, int sign) {
    for (std::size_t i = 0; i < cpus.size(); ++i) load_[cpus[i]] += i == 0 ? sign : 2 * sign;
  }

  std::mutex mutex_;
  std::map<int, int> load_;
};

}  // namespace

class ThreadPool::PinnedCaller {
#ifdef __linux__
 public:
  explicit PinnedCaller(int cpu) : thread_(gettid()) {
    sched_getaffinity(thread_, sizeof before_, &before_);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(thread_, sizeof set, &set);
  }
  ~PinnedCaller() { sched_setaffinity(thread_, sizeof before_, &before_); }

 private:
  pid_t thread_;
  cpu_set_t before_;
#else
 public:
  explicit PinnedCaller(int) {}
#endif
};

ThreadPool::ThreadPool(const Options& options) : threads_(options.threads), spin_(options.spin) {
  if (threads_ < 1 || threads_ > kMaxThreads)
    throw Error(ErrorCode::kInvalidArgument, "expected a thread pool of 1 to " +
                                                 std::to_string(kMaxThreads) + " threads, got " +
                                                 std::to_string(threads_));
  const std::vector<int> cpus = allowed_cpus();
  const bool enough_cpus = cpus.size() >= static_cast<std::size_t>(threads_);
  if (!enough_cpus) spin_ = std::chrono::microseconds{0};
  lanes_ = std::make_unique<Lane[]>(static_cast<std::size_t>(threads_));
  try {
    const detail::BlockedSignals blocked;
    for (int i = 1; i < threads_; ++i) lanes_[i].thread = std::thread([this, i] { work(i); });
    if (enough_cpus) place_threads(cpus, options);
  } catch (const std::system_error& e) {
    end();
    throw Error(ErrorCode::kUnsupported, "the system cannot start a pool of " +
                                             std::to_string(threads_) + " threads: " + e.what());
  } catch (...) {
    end();
    throw;
  }
}

ThreadPool::~ThreadPool() { end(); }

void ThreadPool::end() {
  stop();
  SharedCpus::of_process().give_back(cpus_);
}

void ThreadPool::stop() {
  stop_.store(true);
  for (int i = 1; i < threads_; ++i) {
    Lane& lane = lanes_[i];
    lane.asleep.store(0);
    lane.asleep.notify_one();
    if (lane.thread.joinable()) lane.thread.join();
  }
}

void ThreadPool::place_threads(const std::vector<int>& allowed, const Options& options) {
  if (!options.pin && !options.pin_caller) return;
  cpus_ = SharedCpus::of_process().take(
      allowed, options.pin ? static_cast<std::size_t>(threads_) : std::size_t{1});
  if (options.pin_caller) pinned_caller_ = std::make_unique<PinnedCaller>(cpus_[0]);
  if (!options.pin) return;
  spare_cpu_ = cpus_[0];
  lane_on_cpu_.assign(static_cast<std::size_t>(allowed.back()) + 1, 0);
  for (int lane = 1; lane < threads_; ++lane) {
    lane_on_cpu_[cpus_[lane]] = lane;
    move(lanes_[lane].thread, cpus_[lane]);
  }
}

void ThreadPool::keep_clear_of_caller() {
  const int cpu = current_cpu();
  if (cpu < 0 || static_cast<std::size_t>(cpu) >= lane_on_cpu_.size()) return;
  const int lane = lane_on_cpu_[cpu];
  if (lane == 0) return;
  move(lanes_[lane].thread, spare_cpu_);
  lane_on_cpu_[spare_cpu_] = lane;
  lane_on_cpu_[cpu] = 0;
  spare_cpu_ = cpu;
}

void ThreadPool::run(std::size_t tasks, Task task, void* context) noexcept {
  const StopScope none(nullptr);
  if (threads_ == 1 || tasks <= 1 || busy_.exchange(true, std::memory_order_acquire)) {
    for (std::size_t i = 0; i < tasks; ++i) task(context, i, 0);
    return;
  }
  keep_clear_of_caller();
  const auto count = static_cast<std::uint32_t>(tasks);
  const auto step = static_cast<std::uint32_t>(threads_);
  task_.store(task, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  tasks_.store(count, std::memory_order_relaxed);
  pending_.store(count, std::memory_order_relaxed);
  const std::uint64_t call = (lanes_[0].tickets.load(std::memory_order_relaxed) >> 32) + 1;
  const std::uint32_t used = count < step ? count : step;
  // The caller's own lane is opened last: the other threads can begin earlier.
  for (std::uint32_t n = 1; n <= used; ++n) {
    const std::uint32_t i = n % used;
    Lane& lane = lanes_[i];
    // Sequentially consistent, as in wait_for_work(): either this sees the thread asleep, or the
    // thread sees the tickets.
    lane.tickets.store(call << 32 | ((count - i + step - 1) / step));
    if (lane.asleep.load() != 0) {
      lane.asleep.store(0);
      lane.asleep.notify_one();
    }
  }
  finish(drain(0));
  wait_for_the_others();
  busy_.store(false, std::memory_order_release);
}

// Takes tasks until no lane has any; returns how many.
std::uint32_t ThreadPool::drain(int self) {
  std::uint32_t done = 0;
  for (int n = 0; n < threads_; ++n) {
    const int lane = self + n < threads_ ? self + n : self + n - threads_;
    while (run_one(lane, self)) ++done;
  }
  return done;
}

// Takes one task of the lane, and runs it.
bool ThreadPool::run_one(int lane, int self) {
  std::atomic<std::uint64_t>& tickets = lanes_[lane].tickets;
  std::uint64_t seen = tickets.load(std::memory_order_acquire);
  while (left(seen) > 0) {
    const Task task = task_.load(std::memory_order_relaxed);
    void* const context = context_.load(std::memory_order_relaxed);
    const std::uint32_t tasks = tasks_.load(std::memory_order_relaxed);
    if (!tickets.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire))
      continue;
    const auto step = static_cast<std::size_t>(threads_);
    const auto first = static_cast<std::size_t>(lane);
    const std::size_t held = (tasks - first + step - 1) / step;
    task(context, first + step * (held - left(seen)), self);
    return true;
  }
  return false;
}

void ThreadPool::finish(std::uint32_t done) {
  if (done == 0) return;
  if (pending_.fetch_sub(done) == done) pending_.notify_one();
}

// Other threads may not have finished their tasks.
void ThreadPool::wait_for_the_others() {
  const auto all_done = [this] { return pending_.load() == 0; };
  if (spin_until(all_done, spin_)) return;
  for (std::uint32_t now = pending_.load(); now != 0; now = pending_.load()) pending_.wait(now);
}

void ThreadPool::work(int self) {
  // Round to nearest and keep subnormals, whatever the constructing thread had set.
  std::fesetenv(FE_DFL_ENV);
  while (wait_for_work(lanes_[self])) finish(drain(self));
}

// True when the lane may have tasks, false when the pool ends.
bool ThreadPool::wait_for_work(Lane& lane) {
  const auto news = [&] { return left(lane.tickets.load()) > 0 || stop_.load(); };
  while (!spin_until(news, spin_)) {
    lane.asleep.store(1);
    if (!news()) lane.asleep.wait(1);
    lane.asleep.store(0);
  }
  return !stop_.load();
}

}  // namespace limpid
