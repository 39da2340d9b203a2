// Random inputs for the examples of ops, as used by the law tests, the published hashes and the
// reference page. Depends on function.
#pragma once

#include <vector>

#include "limpid/core/key.h"
#include "limpid/function/function.h"

namespace limpid {

// A random tensor: floating-point elements from [low, high), integers from [0, bound), booleans
// with probability 1/2. Element i depends only on (key, i).
Tensor random_tensor(const Type& type, Key key, double low = -2, double high = 2,
                     std::int64_t bound = 2);

// A random tensor for every input of the example, or of a function.
std::vector<Tensor> random_inputs(const Example& example, Key key);
std::vector<Tensor> random_inputs(const Function& function, Key key, double low = -2,
                                  double high = 2, std::int64_t bound = 2);

// The call of the example as a Function with inputs "x0", "x1", ...
Function function_of(const Op& op, const Example& example);

}  // namespace limpid
