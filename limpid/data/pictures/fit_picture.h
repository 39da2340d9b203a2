// Brings a decoded picture to the shape of a model's examples. Depends on data_config.h and
// formats/picture_file.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "limpid/data/data_config.h"
#include "limpid/formats/picture_file.h"

namespace limpid {

// The maximum side that pictures are brought to.
inline constexpr std::int64_t kMaxFittedSide = 8192;

// Whether pictures can be brought to this shape: 1 or 3 channels, sides of 1 to kMaxFittedSide, and
// a known number for white.
bool can_fit(const PictureShape& shape);

// Writes the picture as numbers in [0, shape.white], channel by channel, each row by row: `out` has
// shape.elements() numbers.
// Colours: a grey picture has three equal channels in colour. In grey, a colour becomes the luma
// of ITU-R BT.601, (19595 red + 38470 green + 7471 blue + 32768) / 65536, rounded down, as PIL has
// it.
// Size: the picture is resized so that it just covers height x width, keeping its aspect ratio, and
// the centre is cut out. The side that is longer then is rounded to the nearest pixel; of an odd
// surplus, one pixel more is cut off below or on the right. A picture of that size is not changed.
// Resizing is bilinear with half-pixel centres, and antialiased when it shrinks, as PIL's and
// PyTorch's (antialias=True): output pixel i is the mean of the input pixels j with weights 1 - |(j
// + 1/2) / s - (i + 1/2)| where that is positive, divided by their sum; s is the input size by the
// output size, in the weights at least 1. First rows, then columns are resized. Weights are
// computed in f64 and rounded to f32. Sums are of f32 in the order of j, from +0, product and sum
// rounded one after the other: the bits are the same on every machine. At last, each number is
// divided by picture.white / shape.white.
//
// Throws kInvalidArgument unless can_fit(shape) and `out` has its size.
void fit_picture(const DecodedPicture& picture, const PictureShape& shape, std::span<float> out);

// decode_picture and fit_picture. `where` names the source in errors. Throws what they throw.
void read_picture(std::span<const std::byte> bytes, std::string_view where,
                  const PictureShape& shape, std::span<float> out,
                  const PictureLimits& limits = {});

}  // namespace limpid
