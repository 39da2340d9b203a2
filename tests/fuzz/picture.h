// What the targets of pictures share.
#pragma once

#include "limpid/data/pictures/fit_picture.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {

// Reads the header, decodes the picture and brings it to another size.
inline void read_any_picture(std::span<const std::byte> bytes) {
  constexpr PictureLimits kLimits{.pixels = 1 << 20, .scans = 16};
  const PictureHeader header = read_picture_header(bytes, "fuzz", kLimits);
  const DecodedPicture picture = decode_picture(bytes, "fuzz", kLimits);
  require(picture.height == header.height && picture.width == header.width,
          "a picture has the size of its header");
  require(picture.channels == 1 || picture.channels == 3, "a picture is grey or has three colours");
  for (const PictureShape& shape : {PictureShape{1, 7, 5}, PictureShape{3, 5, 7}}) {
    std::vector<float> numbers(static_cast<std::size_t>(shape.elements()));
    fit_picture(picture, shape, numbers);
    for (const float number : numbers)
      require(number >= 0 && number <= 1 + 1e-5f, "a number is between black and white");
  }
}

}  // namespace limpid::fuzz
