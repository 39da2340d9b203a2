#include "bench/cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace bench {

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

void pin(pid_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(thread, sizeof set, &set);
}

void pin_this_and_others(int threads) {
  static const std::vector<int> cpus = allowed_cpus();
  const auto used = std::min(cpus.size(), static_cast<std::size_t>(std::max(threads, 2)));
  std::size_t others = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t thread = std::stoi(task.path().filename());
    pin(thread, thread == gettid() || used < 2 ? cpus[0] : cpus[1 + others++ % (used - 1)]);
  }
}

}  // namespace bench
