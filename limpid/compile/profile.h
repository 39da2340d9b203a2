// Where the time of a Function goes: the bands of its plan, timed one by one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "limpid/compile/executable.h"

namespace limpid {

struct BandTime {
  std::string steps;    // as in Executable::plan()
  double microseconds;  // the median of the rounds
};

// Runs the Function on the inputs, band after band, each timed by itself: what threads wait for
// each other in between counts, what bands gain from being run without a look at the clock does
// not. In the order of the plan. Throws what compile and Executable::operator() throw.
std::vector<BandTime> profile(const Function& function, std::span<const Tensor> inputs, int rounds,
                              ThreadPool* pool = nullptr, const CompileOptions& options = {});

}  // namespace limpid
