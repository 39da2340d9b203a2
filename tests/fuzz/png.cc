// PNG pictures; changed with checksums that do not match, and with such that do.
#include <zlib.h>

#include "tests/fuzz/picture.h"
#include "tests/pictures/picture_files.h"

namespace limpid::fuzz {
namespace {

using testing::png_chunk;
using testing::PngPicture;
using namespace std::string_literals;

std::vector<Bytes> seeds() {
  const std::string palette = png_chunk("PLTE", "\7\7\7\1\2\3"s);
  std::vector<PngPicture> pictures;
  for (const int type :
       {testing::kPngGrey, testing::kPngRgb, testing::kPngGreyAlpha, testing::kPngRgba})
    for (const int depth : {8, 16}) {
      constexpr std::size_t kChannels[] = {1, 0, 3, 0, 2, 0, 4};
      const std::size_t bytes = kChannels[type] * static_cast<std::size_t>(depth / 8);
      for (const bool interlaced : {false, true})
        pictures.push_back({9, 6, type, depth, std::string(9 * 6 * bytes, 'x'), interlaced});
    }
  pictures.push_back({2, 3, testing::kPngPalette, 2, "\x40\x10"s, false, palette});
  pictures.push_back(
      {2, 3, testing::kPngPalette, 1, "\x40\x20"s, false, palette + png_chunk("tRNS", "\x80"s)});
  pictures.push_back({2, 3, testing::kPngGrey, 8, "abcdef", false,
                      png_chunk("eXIf", testing::exif_of(6, true)) + png_chunk("tEXt", "a\0b"s)});
  std::vector<Bytes> all;
  for (const PngPicture& picture : pictures) all.push_back(bytes_of(testing::png_file(picture)));
  return all;
}

std::vector<std::string> words() {
  return {"IHDR",          "PLTE",
          "IDAT",          "IEND",
          "tRNS",          "eXIf",
          "iCCP",          "sPLT",
          "acTL",          "II*\0\10\0\0\0"s,
          "\0\0\xff\xff"s, "\x7f\xff\xff\xff"s};
}

// Each chunk gets the checksum of its changed content, as far as the file is made of chunks.
Bytes with_checksums(std::span<const std::byte> file, const Change& change) {
  constexpr std::size_t kMagic = 8, kAround = 12;
  Bytes changed(file.begin(), file.end());
  change(changed);
  const auto number_at = [&](std::size_t at) {
    std::size_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
      number = number << 8 | std::to_integer<std::size_t>(changed[at + i]);
    return number;
  };
  for (std::size_t at = kMagic; at + kAround <= changed.size();) {
    const std::size_t length = number_at(at);
    if (length > changed.size() - at - kAround) break;
    const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(changed.data() + at + 4),
                            static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i)
      changed[at + 8 + length + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
    at += length + kAround;
  }
  return changed;
}

}  // namespace

const Target& png() {
  static const Target target{"png", read_any_picture, seeds, words, with_checksums};
  return target;
}

}  // namespace limpid::fuzz
