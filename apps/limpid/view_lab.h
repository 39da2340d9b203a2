// The experiments of `limpid lab`, and further ones with sliders, as requests of the page. Leans on
// lab and limpid/view/api.h.
#pragma once

#include <span>

#include "limpid/view/api.h"

namespace limpid::tool {

// "lab/activations", "lab/softmax", ...
std::span<const view::Endpoint> lab_endpoints();

}  // namespace limpid::tool
