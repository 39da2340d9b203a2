#include "apps/limpid/support/threads.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace limpid::tool {

int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails where the machine has more CPUs than a cpu_set_t holds.
  const int cpus = sched_getaffinity(0, sizeof set, &set) == 0
                       ? CPU_COUNT(&set)
                       : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cpus, 1, ThreadPool::kMaxThreads);
}

void add_threads_option(Command& command, int& threads) {
  threads = allowed_cpus();
  command
      .option("--threads", threads,
              "Number of threads; the result has the same bits for any number")
      .check(within(1, ThreadPool::kMaxThreads));
}

}  // namespace limpid::tool
