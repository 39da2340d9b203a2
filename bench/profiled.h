// Where the time of a Function goes, printed: the bands of its plan, and their sum by what they do.
#pragma once

#include "limpid/compile/executable.h"

namespace bench {

// On so many threads, each pinned to a CPU of its own.
void print_profile(const limpid::Function& function, std::span<const limpid::Tensor> inputs,
                   int rounds, int threads, const limpid::CompileOptions& options = {});

}  // namespace bench
