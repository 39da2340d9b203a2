// Decoders: every kind of PNG, JPEG, orientations, and files that mean harm.
#include <cstring>
#include <string>

#include "limpid/formats/picture_file.h"
#include "tests/formats/helpers.h"
#include "tests/pictures/picture_files.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::bytes_of;
using testing::exif_of;
using testing::JpegPicture;
using testing::png_chunk;
using testing::PngPicture;
using namespace std::string_literals;

DecodedPicture decode(const std::string& file, const PictureLimits& limits = {}) {
  return decode_picture(bytes_of(file), "a picture", limits);
}

// The samples of the upright picture, row by row.
std::vector<int> samples_of(const DecodedPicture& picture) {
  std::vector<int> all;
  for (std::int64_t y = 0; y < picture.height; ++y)
    for (std::int64_t x = 0; x < picture.width; ++x)
      for (std::int64_t c = 0; c < picture.channels; ++c) {
        const std::int64_t at = picture.first + y * picture.down + x * picture.right + c;
        if (picture.white == 255) {
          all.push_back(std::to_integer<int>(picture.samples.at(static_cast<std::size_t>(at))));
        } else {
          std::uint16_t wide = 0;
          std::memcpy(&wide, &picture.samples.at(static_cast<std::size_t>(2 * at)), sizeof wide);
          all.push_back(wide);
        }
      }
  return all;
}

std::vector<int> decoded(const PngPicture& picture) {
  return samples_of(decode(testing::png_file(picture)));
}

TEST(Png, OfEveryKind) {
  using testing::kPngGrey, testing::kPngGreyAlpha, testing::kPngPalette, testing::kPngRgb,
      testing::kPngRgba;
  EXPECT_EQ(decoded({2, 3, kPngGrey, 8, "\0\1\2\xfd\xfe\xff"s}),
            (std::vector{0, 1, 2, 253, 254, 255}));
  EXPECT_EQ(decoded({1, 3, kPngGrey, 1, "\xa0"s}), (std::vector{255, 0, 255}));
  EXPECT_EQ(decoded({1, 3, kPngGrey, 2, "\x18"s}), (std::vector{0, 85, 170}));
  EXPECT_EQ(decoded({1, 3, kPngGrey, 4, "\x0f\x50"s}), (std::vector{0, 255, 85}));
  EXPECT_EQ(decoded({1, 2, kPngGrey, 16, "\1\2\xff\xff"s}), (std::vector{258, 65535}));
  EXPECT_EQ(decoded({1, 2, kPngRgb, 8, "\1\2\3\4\5\6"s}), (std::vector{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(decoded({1, 1, kPngRgb, 16, "\1\0\0\2\xff\xfe"s}), (std::vector{256, 2, 65534}));
  const std::string palette = png_chunk("PLTE", "\7\7\7\1\2\3"s);
  EXPECT_EQ(decoded({1, 2, kPngPalette, 1, "\x40"s, false, palette}),
            (std::vector{7, 7, 7, 1, 2, 3}));
  // Alpha: on black, to the nearest integer.
  EXPECT_EQ(decoded({1, 3, kPngGreyAlpha, 8, "\xc8\xff\xc8\x80\xc8\0"s}),
            (std::vector{200, 100, 0}));
  EXPECT_EQ(decoded({1, 1, kPngRgba, 8, "\xff\x80\3\x7f"s}), (std::vector{127, 64, 1}));
  EXPECT_EQ(decoded({1, 1, kPngGreyAlpha, 16, "\x80\0\x80\0"s}), (std::vector{16384}));
  EXPECT_EQ(decoded({1, 2, kPngPalette, 1, "\x40"s, false, palette + png_chunk("tRNS", "\x80"s)}),
            (std::vector{4, 4, 4, 1, 2, 3}));
  EXPECT_EQ(decoded({1, 2, kPngGrey, 8, "\5\6"s, false, png_chunk("tRNS", "\0\6"s)}),
            (std::vector{5, 0}));
}

TEST(Png, Interlaced) {
  for (const std::uint32_t width : {1u, 2u, 5u, 9u, 17u}) {
    PngPicture picture{.height = 11, .width = width, .type = testing::kPngRgb};
    for (std::uint32_t i = 0; i < 3 * 11 * width; ++i) picture.rows += static_cast<char>(i * 7);
    const std::vector<int> plain = decoded(picture);
    picture.interlaced = true;
    EXPECT_EQ(decoded(picture), plain);
  }
}

TEST(Png, HasColoursIfAPixelMayHave) {
  const auto header = [](const PngPicture& picture) {
    return read_picture_header(bytes_of(testing::png_file(picture)), "a picture");
  };
  const std::string greys = png_chunk("PLTE", "\7\7\7\1\1\1"s);
  EXPECT_EQ(header({2, 3, testing::kPngGrey, 8, std::string(6, 'x')}),
            (PictureHeader{2, 3, false}));
  EXPECT_EQ(header({1, 1, testing::kPngRgb, 8, "xxx"}), (PictureHeader{1, 1, true}));
  EXPECT_EQ(header({1, 2, testing::kPngPalette, 1, "\x40"s, false, greys}),
            (PictureHeader{1, 2, false}));
  EXPECT_EQ(
      header({1, 2, testing::kPngPalette, 1, "\x40"s, false, png_chunk("PLTE", "\7\7\7\1\1\2"s)}),
      (PictureHeader{1, 2, true}));
  EXPECT_EQ(header({1, 1, testing::kPngGreyAlpha, 8, "xx"}), (PictureHeader{1, 1, false}));
}

// The picture
//   1 2 3
//   4 5 6
// as it is stored for each orientation.
TEST(Orientation, OfEveryKind) {
  const std::vector<int> upright{1, 2, 3, 4, 5, 6};
  struct Stored {
    std::uint32_t height, width;
    std::string rows;
  };
  const std::vector<Stored> stored{{2, 3, "\1\2\3\4\5\6"s}, {2, 3, "\3\2\1\6\5\4"s},
                                   {2, 3, "\6\5\4\3\2\1"s}, {2, 3, "\4\5\6\1\2\3"s},
                                   {3, 2, "\1\4\2\5\3\6"s}, {3, 2, "\3\6\2\5\1\4"s},
                                   {3, 2, "\6\3\5\2\4\1"s}, {3, 2, "\4\1\5\2\6\3"s}};
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool little : {false, true}) {
      const Stored& one = stored[static_cast<std::size_t>(orientation - 1)];
      const std::string file =
          testing::png_file({one.height, one.width, testing::kPngGrey, 8, one.rows, false,
                             png_chunk("eXIf", exif_of(orientation, little))});
      EXPECT_EQ(samples_of(decode(file)), upright) << orientation;
      EXPECT_EQ(read_picture_header(bytes_of(file), "a picture"), (PictureHeader{2, 3, false}));
    }
  // What is no orientation is none.
  for (const std::string& exif :
       {"II*\0"s, "II*\0\xff\xff\xff\xff"s, "XX*\0\10\0\0\0\0\0"s, exif_of(9, true),
        exif_of(0, false), exif_of(3, true).substr(0, 20)})
    EXPECT_EQ(decoded({2, 3, testing::kPngGrey, 8, stored[0].rows, false, png_chunk("eXIf", exif)}),
              upright);
}

// A gradient, which JPEG keeps nearly as it is.
JpegPicture gradient(int channels) {
  JpegPicture picture{.height = 24, .width = 40, .channels = channels};
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x)
      for (int c = 0; c < channels; ++c)
        picture.samples += static_cast<char>(5 * y + 3 * x + 4 * c);
  return picture;
}

void expect_near(const std::vector<int>& got, const std::string& wanted, int most) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], static_cast<unsigned char>(wanted[i]), most) << i;
}

TEST(Jpeg, OfEveryKind) {
  for (const int channels : {1, 3})
    for (const bool halved : {false, true})
      for (const bool progressive : {false, true}) {
        JpegPicture picture = gradient(channels);
        picture.halved = halved;
        picture.progressive = progressive;
        const std::string file = testing::jpeg_file(picture);
        const DecodedPicture read = decode(file);
        EXPECT_EQ(read.channels, channels);
        expect_near(samples_of(read), picture.samples, 5);
        EXPECT_EQ(read_picture_header(bytes_of(file), "a picture"),
                  (PictureHeader{24, 40, channels == 3}));
      }
  // A sequential and a progressive file of the same coefficients give the same samples.
  JpegPicture picture = gradient(3);
  const std::vector<int> sequential = samples_of(decode(testing::jpeg_file(picture)));
  picture.progressive = true;
  EXPECT_EQ(samples_of(decode(testing::jpeg_file(picture))), sequential);
}

TEST(Jpeg, IsTurnedByItsExif) {
  JpegPicture picture = gradient(3);
  const std::vector<int> stored = samples_of(decode(testing::jpeg_file(picture)));
  picture.exif = "Exif\0\0"s + exif_of(6, false);
  const DecodedPicture turned = decode(testing::jpeg_file(picture));
  EXPECT_EQ(turned.height, 40);
  EXPECT_EQ(turned.width, 24);
  const std::vector<int> samples = samples_of(turned);
  // The lower left corner is the upper left one of the upright picture.
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(samples[c], stored[23 * 40 * 3 + c]);
    EXPECT_EQ(samples[23 * 3 + c], stored[c]);
  }
}

void refused(ErrorCode code, const std::string& file, const PictureLimits& limits = {},
             int line = __builtin_LINE()) {
  expect_refused(
      code, [&] { decode(file, limits); }, line);
}

TEST(Hostile, BytesThatAreNoPictures) {
  for (const std::string& file : {""s, "\x89PNG"s, "GIF89a"s, "\xff\xd8"s}) {
    EXPECT_FALSE(is_picture(bytes_of(file)));
    refused(ErrorCode::kFormat, file);
  }
  EXPECT_TRUE(is_picture(bytes_of(testing::png_file({1, 1, testing::kPngGrey, 8, "x"}))));
  EXPECT_TRUE(is_picture(bytes_of(testing::jpeg_file(gradient(1)))));
}

// Every beginning of a file is refused: nothing is made up for what is missing.
TEST(Hostile, FilesThatEndEarly) {
  PngPicture png{.height = 9, .width = 9, .type = testing::kPngRgb};
  for (int i = 0; i < 9 * 9 * 3; ++i) png.rows += static_cast<char>(i * i);
  JpegPicture small = gradient(3);
  JpegPicture progressive = small;
  progressive.progressive = true;
  for (const std::string& file :
       {testing::png_file(png), testing::jpeg_file(small), testing::jpeg_file(progressive)}) {
    EXPECT_NO_THROW(decode(file));
    for (std::size_t size = 0; size < file.size(); ++size)
      EXPECT_THROW(decode(file.substr(0, size)), Error) << size << " of " << file.size();
  }
  const std::string file = testing::jpeg_file(small);
  refused(ErrorCode::kFormat, file.substr(0, file.size() - 20));
  refused(ErrorCode::kFormat, testing::png_file(png).substr(0, 90));
}

TEST(Hostile, ChecksumsThatDoNotMatch) {
  const std::string file = testing::png_file({4, 4, testing::kPngGrey, 8, std::string(16, 'x')});
  for (const char* chunk : {"IHDR", "IDAT", "IEND"}) {
    std::string broken = file;
    const std::size_t name = broken.find(chunk);
    const auto length = static_cast<unsigned char>(broken[name - 1]);
    broken[name + 4 + length] ^= 1;
    refused(ErrorCode::kFormat, broken);
  }
  std::string transparent =
      testing::png_file({1, 2, testing::kPngGrey, 8, "xy", false, png_chunk("tRNS", "\0\6"s)});
  transparent[transparent.find("tRNS") + 6] ^= 1;
  refused(ErrorCode::kFormat, transparent);
  refused(ErrorCode::kFormat,
          testing::png_file({1, 2, testing::kPngGrey, 8, "xy", false, png_chunk("tRNS", "\0"s)}));
}

TEST(Hostile, PicturesOfManyPixels) {
  const auto claims = [](std::uint32_t height, std::uint32_t width) {
    PngPicture picture{.height = 1, .width = 1, .rows = "x"};
    std::string file = testing::png_file(picture);
    // A header of another size, with its checksum.
    std::string header = file.substr(16, 13);
    for (int i = 0; i < 4; ++i) {
      header[static_cast<std::size_t>(i)] = static_cast<char>(width >> (24 - 8 * i));
      header[static_cast<std::size_t>(4 + i)] = static_cast<char>(height >> (24 - 8 * i));
    }
    return file.substr(0, 8) + png_chunk("IHDR", header) + file.substr(33);
  };
  refused(ErrorCode::kUnsupported, claims(65'536, 1));
  refused(ErrorCode::kUnsupported, claims(1, 0x7fffffff));
  refused(ErrorCode::kUnsupported, claims(0x7fffffff, 0x7fffffff));
  refused(ErrorCode::kUnsupported, claims(65'535, 65'535));
  refused(ErrorCode::kFormat, claims(0, 4));
  refused(ErrorCode::kFormat, claims(0x80000000u, 4));
  const std::string file = testing::jpeg_file(gradient(1));
  refused(ErrorCode::kUnsupported, file, {.pixels = 959});
  EXPECT_NO_THROW(decode(file, {.pixels = 960}));
}

// A chunk that is read may not claim memory beyond the file's: libpng 1.6.39 only warns.
TEST(Hostile, ChunksThatClaimMemory) {
  const std::string file = testing::png_file(
      {1, 2, testing::kPngGrey, 8, "xy", false, png_chunk("eXIf", testing::exif_of(6, true))});
  const std::size_t length = file.find("eXIf") - 4;
  for (const std::string& claimed : {"\x52NS\x1a"s, "\x7f\xff\xff\xff"s, "\0\x10\0\1"s})
    refused(ErrorCode::kFormat,
            file.substr(0, length) + claimed + file.substr(length + claimed.size()));
}

// Scans of few bytes, each of which passes over all pixels.
TEST(Hostile, ProgressiveFilesOfManyScans) {
  JpegPicture picture = gradient(3);
  picture.progressive = true;
  const std::string file = testing::jpeg_file(picture);
  EXPECT_NO_THROW(decode(file, {.scans = 10}));
  refused(ErrorCode::kUnsupported, file, {.scans = 9});
  // The last scan, again and again.
  const std::size_t last = file.rfind("\xff\xda"), end = file.rfind("\xff\xd9");
  std::string repeated = file.substr(0, end);
  for (int i = 0; i < 1000; ++i) repeated += file.substr(last, end - last);
  EXPECT_THROW(decode(repeated + file.substr(end)), Error);
}

TEST(Hostile, KindsThatAreNotRead) {
  refused(ErrorCode::kUnsupported, testing::jpeg_file(gradient(4)));
  std::string twelve_bits = testing::jpeg_file(gradient(1));
  twelve_bits[twelve_bits.find("\xff\xc0") + 4] = 12;
  EXPECT_THROW(decode(twelve_bits), Error);  // in the words of the library's version
  std::string coded = testing::jpeg_file(gradient(1));
  coded[coded.find("\xff\xc0") + 1] = '\xc3';  // lossless
  EXPECT_THROW(decode(coded), Error);
  refused(ErrorCode::kFormat, testing::png_file({1, 1, testing::kPngPalette, 8, "\0"s}));
  refused(ErrorCode::kFormat, testing::png_file({1, 1, 5, 8, "xx"}));
}

// Texts and profiles are not unpacked, however large they claim to be, nor do they count as broken.
TEST(Hostile, ChunksThatAreIgnored) {
  const std::string chunks = png_chunk("iCCP", "sRGB\0\0garbage"s) +
                             png_chunk("tEXt", "Comment\0x"s) + png_chunk("gAMA", "\0\0\0\1"s) +
                             png_chunk("teSt", std::string(100'000, 'x'));
  EXPECT_EQ(decoded({1, 2, testing::kPngGrey, 8, "xy", false, chunks}),
            (std::vector<int>{'x', 'y'}));
  refused(ErrorCode::kFormat,
          testing::png_file({1, 2, testing::kPngGrey, 8, "xy", false, png_chunk("TEST", "")}));
}

}  // namespace
}  // namespace limpid
