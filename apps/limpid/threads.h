// --threads: how many threads share the work of a command.
#pragma once

#include "apps/limpid/cli.h"
#include "limpid/compile/thread_pool.h"

namespace limpid::tool {

// The CPUs that this process may run on.
int allowed_cpus();

// Adds --threads to a command; `threads` becomes allowed_cpus() and then what the user says.
void add_threads_option(Command& command, int& threads);

}  // namespace limpid::tool
