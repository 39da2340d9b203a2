// Threads as ranks: a Communicator for tests, and to see what many ranks do on one machine.
#pragma once

#include <cstddef>
#include <functional>

#include "limpid/distribute/communicator.h"

namespace limpid::distribute {

// Runs code(ranks) on `count` threads at once, each a rank, and returns when all have ended. Throws
// what the rank threw that failed first; the others' exchanges then throw kIo. Throws
// kInvalidArgument unless count is positive.
void run_in_process(int count, const std::function<void(Communicator& ranks)>& code);

}  // namespace limpid::distribute
