#include "apps/limpid/threads.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "apps/limpid/command.h"

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

void add_threads_option(CLI::App& command, int& threads) {
  threads = allowed_cpus();
  command
      .add_option("--threads", threads, "Threads that share the work; the result has the same bits")
      ->check(within(1, ThreadPool::kMaxThreads))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace limpid::tool
