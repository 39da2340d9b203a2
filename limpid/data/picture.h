// Images as text, for terminals. Leans on nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace limpid {

// Pixels in [0, 1], row-major, as lines of `width` characters, two pixels above one another in
// each: space, upper half block, lower half block, full block (UTF-8), where a pixel from 0.5 on is
// ink. An odd last row of pixels stands above nothing. Each line ends in '\n'. A 28 x 28 image
// becomes 14 lines. Throws kInvalidArgument unless width > 0 divides the number of pixels.
std::string half_blocks(std::span<const float> pixels, std::int64_t width);

}  // namespace limpid
