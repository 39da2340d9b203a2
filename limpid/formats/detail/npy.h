// The reading of an array from bytes that may stay where they are. Leans on core; included by
// sources alone.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "limpid/core/tensor.h"

namespace limpid::detail {

// parse_npy of npy.h; the tensor borrows the bytes, which `owner` keeps, where it can, and copies
// them where they are in another order, not aligned, or without an owner.
Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where,
                 const std::shared_ptr<const void>& owner);

}  // namespace limpid::detail
