// The time of a call whose work is split in two: ThreadPool, oneTBB and OpenMP compared. These are
// the figures of docs/decisions/0001-threads.md.
#include <fmt/core.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "limpid/compile/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

void pin_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The work is a wait of fixed length, so that the rest of the time is the cost of splitting.
void work(double time) {
  const auto start = Clock::now();
  while (microseconds(Clock::now() - start) < time) {
  }
}

class PinSecondThread : public tbb::task_scheduler_observer {
 public:
  explicit PinSecondThread(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) {
    observe(true);
  }
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) pin_this_thread(1);
  }
};

struct Subject {
  std::string name;
  std::function<void(double)> split_in_two;  // calls work(time) twice, on two threads if possible
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// How often the system took a CPU away from this process for another one.
long preemptions() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// One round: the median time of calls, each after a pause. Repeated, a limited number of times,
// until no other program ran meanwhile.
double round_of(const Subject& subject, double time, std::chrono::microseconds pause) {
  const int calls = pause.count() == 0 ? 100 : 20;
  std::vector<double> times;
  for (int attempt = 0; attempt < 50; ++attempt) {
    times.clear();
    // The previous subject's threads go to sleep; this subject's wake up.
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    for (int i = 0; i < 20; ++i) subject.split_in_two(time);
    const long before = preemptions();
    for (int i = 0; i < calls; ++i) {
      if (pause.count() != 0) std::this_thread::sleep_for(pause);
      const auto start = Clock::now();
      subject.split_in_two(time);
      times.push_back(microseconds(Clock::now() - start));
    }
    if (preemptions() == before) break;
  }
  return median(times);
}

}  // namespace

int main() {
  if (std::thread::hardware_concurrency() < 2) {
    fmt::print("This comparison needs two CPUs.\n");
    return 1;
  }
  limpid::ThreadPool pool({.threads = 2});
  tbb::task_arena arena(2);
  arena.initialize();
  PinSecondThread pinned(arena);
  arena.execute([] { tbb::parallel_for(0, 2, [](int) { work(5); }); });
  omp_set_num_threads(2);
#pragma omp parallel
  pin_this_thread(omp_get_thread_num());

  const std::vector<Subject> subjects = {
      {"one thread", [](double time) { work(2 * time); }},
      {"ThreadPool",
       [&](double time) {
         pool.run(
             2, [](void* s, std::size_t, int) { work(*static_cast<double*>(s)); }, &time);
       }},
      {"oneTBB, static",
       [&](double time) {
         arena.execute([&] {
           tbb::parallel_for(
               0, 2, [&](int) { work(time); }, tbb::static_partitioner());
         });
       }},
      {"oneTBB, simple",
       [&](double time) {
         arena.execute([&] {
           tbb::parallel_for(
               0, 2, [&](int) { work(time); }, tbb::simple_partitioner());
         });
       }},
      {"OpenMP",
       [](double time) {
#pragma omp parallel num_threads(2)
         work(time);
       }},
  };

  const int rounds = 31;
  for (const std::chrono::microseconds pause :
       {std::chrono::microseconds{0}, std::chrono::microseconds{1000}}) {
    fmt::print("\nMicroseconds a call, median of {} interleaved rounds, {}\n\n", rounds,
               pause.count() == 0 ? "calls back to back" : "1 ms of sleep before each call");
    fmt::print("| work, us |");
    for (const Subject& s : subjects) fmt::print(" {} |", s.name);
    fmt::print("\n|---|");
    for (std::size_t i = 0; i < subjects.size(); ++i) fmt::print("---|");
    fmt::print("\n");
    for (const double total : {5.0, 10.0, 20.0, 50.0}) {
      std::vector<std::vector<double>> times(subjects.size());
      for (int r = 0; r < rounds; ++r)
        for (std::size_t i = 0; i < subjects.size(); ++i)
          times[i].push_back(round_of(subjects[i], total / 2, pause));
      fmt::print("| {} |", total);
      for (const auto& t : times) fmt::print(" {:.1f} |", median(t));
      fmt::print("\n");
    }
  }
}
