// collapse: layers that are one layer in exact arithmetic become one. The bits change; it is asked
// for by name.
#pragma once

#include <string>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// What collapse gives.
struct Collapsed {
  Function function;
  std::vector<std::string> done;  // what was done, a line each
};

// For inference:
// * dropout goes: its input is its result;
// * linear after linear becomes one linear of the weight W2 W1 and the bias W2 b1 + b2, also where
// a
//   narrow layer between them made two products cheaper than the one;
// * batch norm by running statistics behind a linear goes into it: with s = gamma / sqrt(var + eps)
//   the weight s W and the bias (b - mean) s + beta.
// A linear that something else reads as well stays. The new weights are ops of the old ones, which
// simplify makes constants where the old ones are (see bind); until then each run computes them.
//
// A dot of n terms has an error of at most n eps / 2 times the dot of the magnitudes, in first
// order (eps = 2^-23 in f32). Summed over both ways to a result, the old and the new one differ by
// at most
//   linear, linear: (n + h + 2) eps (|W2| (|W1| |x| + |b1|) + |b2|),  W1 (h, n)
//   linear, norm:   (n + 9) eps (|s| (|W| |x| + |b| + |mean|) + |beta|),  W (.., n)
// unless something underflows or overflows on the way.
Collapsed collapse(const Function& f);

}  // namespace limpid
