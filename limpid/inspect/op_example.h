// An op at work on one of its examples: what the laws, the published hashes and the reference page
// are made from. Leans on function.
#pragma once

#include <vector>

#include "limpid/core/key.h"
#include "limpid/function/function.h"

namespace limpid {

// Floating elements from [low, high), integers from [0, bound), booleans by a coin; element i
// depends on (key, i) alone.
Tensor random_tensor(const Type& type, Key key, double low = -2, double high = 2,
                     std::int64_t bound = 2);

// A tensor for every input of the example, or of a function.
std::vector<Tensor> random_inputs(const Example& example, Key key);
std::vector<Tensor> random_inputs(const Function& function, Key key, double low = -2,
                                  double high = 2, std::int64_t bound = 2);

// The example's call as a Function of inputs "x0", "x1", ...
Function function_of(const Op& op, const Example& example);

}  // namespace limpid
