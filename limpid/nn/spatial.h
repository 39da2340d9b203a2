// Spatial: arguments of layers over images. Depends on nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace limpid::nn {

// A number for each spatial dimension, or one for all of them.
using Spatial = std::vector<std::int64_t>;

}  // namespace limpid::nn
