// The interpreter: runs a Function op by op with the reference arithmetic. Slow, obvious, and the
// oracle: whatever else runs a Function must give its bits.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// Sees every result of every op as it is made: the node, which of its results, and the tensor.
using Observer = std::function<void(const Node& node, std::size_t result, const Tensor& value)>;

// Throws kShape or kDtype where the tensors do not fit the inputs' types.
std::vector<Tensor> interpret(const Function& function, std::span<const Tensor> inputs,
                              const Observer& observer = {});

// Whether no result has an element: nothing is to be computed then, however long the other
// dimensions are.
bool results_are_empty(const Call& call);

// One call: by reference arithmetic, or by interpreting the body.
std::vector<Tensor> interpret_call(const Call& call, std::span<const Tensor> inputs);

// Throws kInvalidArgument, kShape or kDtype, naming the input, where the tensors do not fit.
void check_arguments(const Function& function, std::span<const Tensor> inputs);

}  // namespace limpid
