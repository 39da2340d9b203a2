// Prints a profile of a Function: the time of each band of its plan, and sums by kind of work.
#pragma once

#include "limpid/compile/executable.h"

namespace bench {

// On this many threads, each pinned to its own CPU.
void print_profile(const limpid::Function& function, std::span<const limpid::Tensor> inputs,
                   int rounds, int threads, const limpid::CompileOptions& options = {});

}  // namespace bench
