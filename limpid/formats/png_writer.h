// Writes PNG files (ISO/IEC 15948): 8 bits a channel, grey or RGB. Depends on core and zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace limpid {

// The bytes of a PNG of height x width pixels with 1 channel (grey) or 3 (red, green, blue), row by
// row. Throws kInvalidArgument for other numbers of channels, for sides that are not from 1 to
// 65,536, for more than 2^30 numbers, and if `pixels` has another size.
std::vector<std::byte> png_bytes(std::int64_t height, std::int64_t width, std::int64_t channels,
                                 std::span<const std::uint8_t> pixels);

}  // namespace limpid
