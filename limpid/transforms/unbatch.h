// unbatch: the function of one example of which a Function of a batch is the vmap, where its graph
// proves that there is one. Depends on function and ops.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// The inverse of vmap. `in_axes` has an axis for each input that carries `size` examples (counted
// from the end where it is negative), and nothing for an input that they share. That axis is gone
// from the inputs of the result; the axis of the examples, wherever it is, from its outputs.
//
// A proof: op by op, the graph shows that example i of each value depends on example i of the
// inputs alone, and in the same way for each i. Examples may be folded into other dimensions and
// move between axes. What is not proved is refused, even where it happens to hold.
//
// Throws kUnsupported, naming the first op that may mix examples, or the output without examples;
// kInvalidArgument where `in_axes` does not fit the inputs, or `size` is no prime: reshapes could
// hide a part of another size.
Function unbatch(const Function& batch, const std::vector<std::optional<std::int64_t>>& in_axes,
                 std::int64_t size);

}  // namespace limpid
