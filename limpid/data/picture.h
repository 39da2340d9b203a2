// How pictures are shown: their shape, and as text for terminals. Depends on dataset.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "limpid/data/dataset.h"

namespace limpid {

// The shape in which examples are shown: that of pictures, or a square for numbers without names
// that make one of at least 8 x 8; nullopt for other examples.
std::optional<PictureShape> shown_shape(const Dataset& data);

// Pixels in [0, 1], row-major, as lines of `width` characters. Each character shows two pixels, one
// above the other: space, upper half block, lower half block or full block (UTF-8). A pixel is set
// if it is 0.5 or more. Below an odd last row of pixels is blank. Each line ends in '\n'. A 28 x 28
// image becomes 14 lines. Throws kInvalidArgument unless width > 0 divides the number of pixels.
std::string half_blocks(std::span<const float> pixels, std::int64_t width);

}  // namespace limpid
