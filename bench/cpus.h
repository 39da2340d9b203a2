// The CPUs to measure on, and pinning of threads.
#pragma once

#include <sys/types.h>

#include <vector>

namespace bench {

// The CPUs that this process may use, ascending.
std::vector<int> allowed_cpus();
// Pins a thread to a CPU; `thread` is the kernel's thread id, 0: the calling thread.
void pin(pid_t thread, int cpu);
// Pins the calling thread to the first CPU. The other threads of this process get the next
// `threads` - 1 CPUs (at least one) in turn.
void pin_this_and_others(int threads);

}  // namespace bench
