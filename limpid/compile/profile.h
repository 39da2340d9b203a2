// Profiling: the time of each band of a Function's plan.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "limpid/compile/executable.h"

namespace limpid {

struct BandTime {
  std::string steps;    // as printed by Executable::plan()
  double microseconds;  // the median over the rounds
};

// Runs the Function on the inputs and times each band separately, in the order of the plan. The
// times include waiting for threads between bands, which an untimed run may avoid. Throws what
// compile and Executable::operator() throw.
std::vector<BandTime> profile(const Function& function, std::span<const Tensor> inputs, int rounds,
                              ThreadPool* pool = nullptr, const CompileOptions& options = {});

}  // namespace limpid
