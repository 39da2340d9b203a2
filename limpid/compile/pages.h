// Memory of plans: how it is cut and where it lies. Leans on core.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "limpid/core/tensor.h"

namespace limpid::detail {

// Memory of this size and more lies on huge pages, if the system has them: allocate_aligned().
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
// From this size on a plan's memory gets a huge page of its own. A page that is mostly empty still
// pays where it keeps the weights of a network in the second-level cache from driving each other
// out.
inline constexpr std::size_t kWorthAHugePage = std::size_t{512} << 10;

inline std::size_t round_up(std::size_t bytes) {
  return (bytes + Tensor::kAlignment - 1) / Tensor::kAlignment * Tensor::kAlignment;
}

inline std::shared_ptr<std::byte> allocate_pages(std::size_t bytes) {
  return allocate_aligned(bytes < kWorthAHugePage ? bytes : std::max(bytes, kHugePage));
}

}  // namespace limpid::detail
