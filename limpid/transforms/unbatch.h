// unbatch: the inverse of vmap. Finds the Function of one example for a Function of a batch, if its
// graph proves that there is one. Depends on function and ops.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// `in_axes` gives the batch axis, of `size` examples, of each input (negative: from the end), or
// nullopt for a shared input. The batch axis is removed from the inputs of the result, and from its
// outputs, wherever it is there.
//
// The proof goes op by op: example i of each value depends only on example i of the inputs, and in
// the same way for every i. Examples may be merged into other dimensions and move between axes. A
// Function without such a proof is refused, even if it has the property.
//
// Throws kUnsupported, naming the first op that may mix examples, or the output without examples;
// kInvalidArgument if `in_axes` does not match the inputs, or if `size` is not prime: with another
// size, a reshape could separate its factors.
Function unbatch(const Function& batch, const std::vector<std::optional<std::int64_t>>& in_axes,
                 std::int64_t size);

}  // namespace limpid
