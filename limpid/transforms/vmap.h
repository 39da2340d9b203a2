// vmap: turns a Function of one example into a Function of a batch. For code on Values, see
// of_code.h.
#pragma once

#include <optional>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// `in_axes` gives the axis at which each input gets a batch dimension of `size` (-1: last), or
// nullopt for an input that the whole batch shares. Every output has a leading batch dimension.
// Preserves the bits: vmap(f)(X)[i] is f(X[i]). Throws kInvalidArgument if in_axes does not match
// f's inputs or has no axis, kShape for an axis out of range.
Function vmap(const Function& f, const std::vector<std::optional<std::int64_t>>& in_axes,
              std::int64_t size);

}  // namespace limpid
