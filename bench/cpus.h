// Which CPUs there are to measure on, and keeping threads on them.
#pragma once

#include <sys/types.h>

#include <vector>

namespace bench {

// That this process may use, ascending.
std::vector<int> allowed_cpus();
// Keeps a thread on one CPU; `thread` is a thread's number for the kernel, 0 the calling one.
void pin(pid_t thread, int cpu);
// Keeps the calling thread on the first CPU, and every other thread of this process on the second.
void pin_this_and_others();

}  // namespace bench
