// --threads: the number of threads of a command.
#pragma once

#include "apps/limpid/support/cli.h"
#include "limpid/compile/thread_pool.h"

namespace limpid::tool {

// The number of CPUs that this process may use.
int allowed_cpus();

// Adds --threads to a command. The default of `threads` is allowed_cpus().
void add_threads_option(Command& command, int& threads);

}  // namespace limpid::tool
