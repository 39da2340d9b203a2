// How pictures are shown: their shape, as text for terminals, and as a sheet of several. Depends on
// dataset.h and formats/png_writer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

// Pictures beside each other, `columns` in a row, as a PNG. Pixels in [0, 1], channels first, one
// picture after another; other numbers are bounded. Three channels are red, green and blue; of
// other numbers of channels the mean is shown. Small pictures are enlarged by a whole factor.
// Throws kInvalidArgument unless there are whole pictures, at least one, and columns > 0, and if
// the sheet would have a side beyond 16,384 pixels.
std::vector<std::byte> picture_sheet(std::span<const float> pictures, const PictureShape& shape,
                                     std::int64_t columns);

}  // namespace limpid
