// Memory of plans: sizes and alignment. Depends on core.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "limpid/core/tensor.h"

namespace limpid::detail {

// allocate_aligned() uses huge pages for this size and more, if the system has them.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
// From this size on, a plan's memory gets its own huge page. Even a mostly empty page pays off: on
// contiguous memory the weights of a network do not evict each other from the L2 cache.
inline constexpr std::size_t kWorthAHugePage = std::size_t{512} << 10;

inline std::size_t round_up(std::size_t bytes) {
  return (bytes + Tensor::kAlignment - 1) / Tensor::kAlignment * Tensor::kAlignment;
}

inline std::shared_ptr<std::byte> allocate_pages(std::size_t bytes) {
  return allocate_aligned(bytes < kWorthAHugePage ? bytes : std::max(bytes, kHugePage));
}

}  // namespace limpid::detail
