// Threads as ranks: for tests, and to try many ranks on one machine.
#pragma once

#include <cstddef>
#include <functional>

#include "limpid/distribute/communicator.h"

namespace limpid::distribute {

// Runs code(ranks) on `count` threads, each a rank, and returns when all have ended. If a rank
// throws, the exchanges of the others throw kIo, and the first exception is rethrown. Throws
// kInvalidArgument unless count > 0.
void run_in_process(int count, const std::function<void(Communicator& ranks)>& code);

}  // namespace limpid::distribute
