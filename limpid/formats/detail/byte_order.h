// Elements of files that are not in the byte order of the machine. Leans on nothing; included by
// sources alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

namespace limpid::detail {

static_assert(std::endian::native == std::endian::little,
              "elements of big-endian files are turned");

// Turns elements of `size` bytes from big-endian to the machine's order, or back.
inline void reverse_each(std::span<std::byte> bytes, std::size_t size) {
  for (std::size_t i = 0; i < bytes.size(); i += size)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
}

}  // namespace limpid::detail
