#include "tests/pictures/picture_files.h"

#include <zlib.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#ifdef LIMPID_TESTS_JPEG
// It needs <cstdio> before it.
#include <jpeglib.h>
#endif

namespace limpid::testing {
namespace {

std::string big(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

std::string deflated(const std::string& data) {
  uLongf size = compressBound(data.size());
  std::string out(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(out.data()), &size,
               reinterpret_cast<const Bytef*>(data.data()), data.size()) != Z_OK)
    std::abort();
  out.resize(size);
  return out;
}

struct Pass {
  std::size_t row, column, row_step, column_step;
};

}  // namespace

std::string png_chunk(std::string_view name, std::string_view content) {
  const std::string body = std::string(name) + std::string(content);
  const uLong sum =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big(content.size(), 4) + body + big(sum, 4);
}

std::string png_file(const PngPicture& picture) {
  const std::size_t row = picture.rows.size() / picture.height;
  // Adam7.
  constexpr std::array<Pass, 7> kPasses{{{0, 0, 8, 8},
                                         {0, 4, 8, 8},
                                         {4, 0, 8, 4},
                                         {0, 2, 4, 4},
                                         {2, 0, 4, 2},
                                         {0, 1, 2, 2},
                                         {1, 0, 2, 1}}};
  std::string filtered;
  if (picture.interlaced) {
    const std::size_t pixel = row / picture.width;
    for (const Pass& pass : kPasses)
      for (std::size_t y = pass.row; y < picture.height && pass.column < picture.width;
           y += pass.row_step) {
        filtered += '\0';
        for (std::size_t x = pass.column; x < picture.width; x += pass.column_step)
          filtered += picture.rows.substr(y * row + x * pixel, pixel);
      }
  } else {
    for (std::size_t y = 0; y < picture.height; ++y)
      filtered += '\0' + picture.rows.substr(y * row, row);
  }
  const std::string header = big(picture.width, 4) + big(picture.height, 4) +
                             big(static_cast<unsigned>(picture.depth), 1) +
                             big(static_cast<unsigned>(picture.type), 1) + std::string(2, '\0') +
                             (picture.interlaced ? '\1' : '\0');
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + picture.chunks +
         png_chunk("IDAT", deflated(filtered)) + png_chunk("IEND", "");
}

#ifdef LIMPID_TESTS_JPEG
std::string jpeg_file(const JpegPicture& picture) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &out, &size);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.input_components = picture.channels;
  jpeg.in_color_space = picture.channels == 1   ? JCS_GRAYSCALE
                        : picture.channels == 3 ? JCS_RGB
                                                : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, picture.quality, TRUE);
  if (!picture.halved) jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  if (picture.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (!picture.exif.empty())
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(picture.exif.data()),
                      static_cast<unsigned>(picture.exif.size()));
  std::string samples = picture.samples;
  const auto row = static_cast<std::size_t>(picture.width * picture.channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* line = reinterpret_cast<JSAMPROW>(samples.data() + jpeg.next_scanline * row);
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string file(reinterpret_cast<const char*>(out), size);
  std::free(out);
  return file;
}
#endif

std::string exif_of(int orientation, bool little) {
  const auto number = [&](unsigned value, int bytes) {
    std::string text = big(value, bytes);
    return little ? std::string(text.rbegin(), text.rend()) : text;
  };
  // One entry: 0x0112, SHORT, one of them, the value and two bytes that do not count.
  return (little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) + number(0x0112, 2) +
         number(3, 2) + number(1, 4) + number(static_cast<unsigned>(orientation), 2) +
         number(0, 2) + number(0, 4);
}

}  // namespace limpid::testing
