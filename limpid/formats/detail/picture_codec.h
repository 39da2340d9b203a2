// What png.cc and jpeg.cc have for picture_file.cc. Included only by sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "limpid/formats/detail/report.h"

namespace limpid::detail {

// A picture as it is stored, and the orientation that its EXIF data states: 1 (upright) to 8.
struct StoredPicture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool colour = false;
  int orientation = 1;
  std::int64_t channels = 0;            // with alpha, if there is any
  bool wide = false;                    // samples of 16 bits
  std::vector<std::byte> samples = {};  // row by row; empty if only the header was read
};

// Throws if a picture of this size is not to be decoded; called before memory is taken.
using CheckSize = std::function<void(std::int64_t height, std::int64_t width)>;

// Whether the library was built with the decoder.
extern const bool kReadsPng;
extern const bool kReadsJpeg;

// Reads the header, and the samples if they are wanted. Throws kFormat for a broken file,
// kUnsupported for a picture of a kind that is not read.
StoredPicture read_png(std::span<const std::byte> bytes, const Reporter& report,
                       const CheckSize& check, bool samples);
StoredPicture read_jpeg(std::span<const std::byte> bytes, const Reporter& report,
                        const CheckSize& check, int scans, bool samples);

// The orientation in EXIF data, which is a TIFF file; 1 if it states none.
int exif_orientation(std::span<const std::byte> tiff);

}  // namespace limpid::detail
