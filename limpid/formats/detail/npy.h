// Reads a .npy array without a copy if possible. Depends on core; included only by sources.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "limpid/core/tensor.h"

namespace limpid::detail {

// As parse_npy of npy.h, but the tensor borrows the bytes, which `owner` keeps alive. It copies
// them if they are in another order or not aligned, or if there is no owner.
Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where,
                 const std::shared_ptr<const void>& owner);

}  // namespace limpid::detail
