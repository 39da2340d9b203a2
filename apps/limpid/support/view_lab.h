// The experiments of `limpid lab`, and interactive ones, as endpoints for the page. Depends on lab
// and limpid/view/api.h.
#pragma once

#include <span>

#include "limpid/view/api.h"

namespace limpid::tool {

// "lab/activations", "lab/softmax", ...
std::span<const view::Endpoint> lab_endpoints();

}  // namespace limpid::tool
