// Writes small PNG and JPEG files. PNG by zlib alone, so that any chunk can be written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace limpid::testing {

// Types of PNG.
inline constexpr int kPngGrey = 0, kPngRgb = 2, kPngPalette = 3, kPngGreyAlpha = 4, kPngRgba = 6;

// A chunk with its length and checksum.
std::string png_chunk(std::string_view name, std::string_view content);

struct PngPicture {
  std::uint32_t height = 1;
  std::uint32_t width = 1;
  int type = kPngGrey;
  int depth = 8;
  // Row by row as the file has them: 16 bits with the high byte first, fewer than 8 packed.
  std::string rows = {};
  bool interlaced = false;  // of whole bytes a pixel
  std::string chunks = {};  // before the pixels
};
std::string png_file(const PngPicture& picture);

#ifdef LIMPID_TESTS_JPEG
struct JpegPicture {
  int height = 1;
  int width = 1;
  int channels = 1;          // 1, 3, or 4 for CMYK
  std::string samples = {};  // row by row
  int quality = 95;
  bool halved = true;  // whether the colours of a picture have half its height and width
  bool progressive = false;
  std::string exif = {};  // the content of an APP1 marker
};
std::string jpeg_file(const JpegPicture& picture);
#endif

// EXIF data that states an orientation, as TIFF.
std::string exif_of(int orientation, bool little);

}  // namespace limpid::testing
