// collapse: merges layers that are one layer in exact arithmetic. It changes the bits, so it is
// never applied implicitly.
#pragma once

#include <string>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// The result of collapse().
struct Collapsed {
  Function function;
  std::vector<std::string> done;  // what was done, one line each
};

// For inference:
// * dropout is removed;
// * linear after linear becomes one linear with weight W2 W1 and bias W2 b1 + b2, even if a narrow
//   layer between them made two products cheaper than one;
// * batch norm at inference after a linear is merged into it: with s = gamma / sqrt(var + eps), the
//   weight becomes s W and the bias (b - mean) s + beta.
// A linear whose result is used elsewhere stays. The new weights are computed from the old ones by
// ops. If the old weights are constants (see bind), simplify() folds the new ones; otherwise each
// run computes them.
//
// Error bound: a dot product of n terms has an error of at most n eps / 2 times the dot product of
// the magnitudes, to first order (eps = 2^-23 in f32). So old and new results differ by at most
//   linear, linear: (n + h + 2) eps (|W2| (|W1| |x| + |b1|) + |b2|),  W1 (h, n)
//   linear, norm:   (n + 9) eps (|s| (|W| |x| + |b| + |mean|) + |beta|),  W (.., n)
// unless an intermediate result underflows or overflows.
Collapsed collapse(const Function& f);

}  // namespace limpid
