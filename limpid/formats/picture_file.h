// Reads PNG and JPEG pictures. Depends on core, and on libpng and libjpeg-turbo where the library
// was built with them (packages-pictures.txt).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace limpid {

// The maximum size of a picture's file in bytes, and of a side in pixels.
inline constexpr std::uint64_t kMaxPictureBytes = std::uint64_t{256} << 20;
inline constexpr std::int64_t kMaxPictureSide = 65'535;

// Limits for a picture of an untrusted source: decoding takes time and memory by the pixel, and a
// few bytes may claim many pixels.
struct PictureLimits {
  std::int64_t pixels = std::int64_t{64} << 20;
  int scans = 64;  // of a progressive JPEG; usual ones have about ten
};

// What a picture's header says. Height and width are those of the upright picture: an orientation
// in its EXIF data has been applied.
struct PictureHeader {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool colour = false;  // whether it has pixels that are not grey; of a palette, colours

  bool operator==(const PictureHeader&) const = default;
};

// A decoded picture: grey, or red, green and blue. Pixel (y, x) of the upright picture has its
// samples at first + y * down + x * right.
struct DecodedPicture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 1;       // 1 or 3
  std::int64_t white = 255;        // the largest sample: 255 or 65535
  std::vector<std::byte> samples;  // u8, or u16 in the byte order of the machine
  std::int64_t first = 0;
  std::int64_t down = 0;
  std::int64_t right = 0;
};

// Whether these bytes begin like a PNG or JPEG picture.
bool is_picture(std::span<const std::byte> bytes);

// Reads the header only. `where` names the source in errors. Throws kFormat for a broken header or
// other bytes; kUnsupported for a picture beyond the limits or of a kind that is not read, and for
// a format that the library was built without.
PictureHeader read_picture_header(std::span<const std::byte> bytes, std::string_view where,
                                  const PictureLimits& limits = {});

// Decodes a picture.
// PNG: all kinds. Palettes and fewer than 8 bits become 8 bits; gamma and colour profiles are
// ignored. A transparent picture is put on black: each sample becomes the integer nearest to sample
// * alpha / white.
// JPEG: grey and YCbCr or RGB with 8 bits, sequential and progressive, by libjpeg's accurate
// integer transform (JDCT_ISLOW) with its smooth ("fancy") chroma upsampling. CMYK is refused.
// Nothing is repaired: a checksum that does not match, data that ends early or is corrupt are
// refused. Throws as read_picture_header does.
DecodedPicture decode_picture(std::span<const std::byte> bytes, std::string_view where,
                              const PictureLimits& limits = {});

}  // namespace limpid
