// vmap: a Function of one example becomes a Function of a batch. For code on Values: of_code.h.
#pragma once

#include <optional>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// Inputs with an axis in `in_axes` get a dimension of `size` there, -1 meaning last; those without
// are shared by the whole batch. Every output has the batch dimension in front. Preserves the bits:
// vmap(f)(X)[i] is f(X[i]). Throws kInvalidArgument where in_axes does not fit f's inputs or holds
// no axis, kShape for an axis outside.
Function vmap(const Function& f, const std::vector<std::optional<std::int64_t>>& in_axes,
              std::int64_t size);

}  // namespace limpid
