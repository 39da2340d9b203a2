// JPEG pictures.
#include "tests/fuzz/picture.h"
#include "tests/pictures/picture_files.h"

namespace limpid::fuzz {
namespace {

using testing::JpegPicture;
using namespace std::string_literals;

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const int channels : {1, 3, 4})
    for (const bool progressive : {false, true})
      for (const bool halved : {false, true}) {
        JpegPicture picture{.height = 9,
                            .width = 18,
                            .channels = channels,
                            .halved = halved,
                            .progressive = progressive,
                            .exif = "Exif\0\0"s + testing::exif_of(progressive ? 6 : 3, halved)};
        for (int i = 0; i < 9 * 18 * channels; ++i) picture.samples += static_cast<char>(i * 5);
        all.push_back(bytes_of(testing::jpeg_file(picture)));
      }
  return all;
}

std::vector<std::string> words() {
  return {"\xff\xd8", "\xff\xd9", "\xff\xda", "\xff\xc0", "\xff\xc2",       "\xff\xc4", "\xff\xdb",
          "\xff\xdd", "\xff\xe1", "\xff\xd0", "\xff\xff", "Exif\0\0II*\0"s, "Adobe"s};
}

}  // namespace

const Target& jpeg() {
  static const Target target{"jpeg", read_any_picture, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
