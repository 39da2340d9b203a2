// Memory for the results of runs. A training loop makes and drops the same arrays in every step;
// memory that the system hands out anew has to be zeroed, page by page, while it is first written.
// Depends on limpid/core.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid::python {

// Tensors of these types; `fill` receives their memory, whose contents are arbitrary, and must
// write all of it. Large blocks are kept when their tensors end, at most 64 MiB, and used again.
std::vector<Tensor> make_results(std::span<const Type> types,
                                 const std::function<void(std::span<void* const>)>& fill);

}  // namespace limpid::python
