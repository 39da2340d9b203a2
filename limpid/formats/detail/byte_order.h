// Byte order of elements in files. Included only by sources.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

namespace limpid::detail {

static_assert(std::endian::native == std::endian::little,
              "elements of big-endian files are turned");

// Converts elements of `size` bytes between big-endian and the machine's byte order.
inline void reverse_each(std::span<std::byte> bytes, std::size_t size) {
  for (std::size_t i = 0; i < bytes.size(); i += size)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
}

}  // namespace limpid::detail
