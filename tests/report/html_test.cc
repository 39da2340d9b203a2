// The parts of a page: escaped text and images.
#include "limpid/report/html.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <string>
#include <vector>

#include "limpid/core/error.h"

namespace limpid::report {
namespace {

TEST(Escaped, MarkupIsText) {
  EXPECT_EQ(escaped("<a b='c' d=\"e\">&amp;</a>"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;amp;&lt;/a&gt;");
}

TEST(Escaped, WhatIsNoTextIsReplaced) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped("a\nb\tc"), "a\nb\tc");
  EXPECT_EQ(escaped("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(escaped(std::string("\0\x1b\x7f", 3)), r + r + r);
  EXPECT_EQ(escaped("\xFFx\xC3"), r + "x" + r);
  EXPECT_EQ(escaped("\xC0\xAF"), r + r);          // longer than needed
  EXPECT_EQ(escaped("\xED\xA0\x80"), r + r + r);  // a surrogate
  EXPECT_EQ(escaped("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(escaped("\xE0\x9F\xBF"), r + r + r);
  EXPECT_EQ(escaped("\xF0\x8F\xBF\xBF"), r + r + r + r);
  EXPECT_EQ(escaped("\xF5\x80\x80\x80"), r + r + r + r);
  EXPECT_EQ(escaped("\xE2(\xA1"), r + "(" + r);
  EXPECT_EQ(escaped(std::string_view("\xE2\x82\xAC").substr(0, 2)), r + r);
  // The first and the last that are well formed.
  for (const char* text :
       {"\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(escaped(text), text);
}

std::vector<unsigned char> decoded(std::string_view base64) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes;
  unsigned bits = 0;
  int count = 0;
  for (char c : base64) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<unsigned char>(bits >> count));
  }
  return bytes;
}

TEST(Png, HoldsThePixels) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 21; ++i) pixels.push_back(static_cast<std::uint8_t>(12 * i));
  const std::string uri = png_uri(pixels, 7);
  const std::string_view head = "data:image/png;base64,";
  ASSERT_EQ(uri.substr(0, head.size()), head);
  const std::vector<unsigned char> png = decoded(std::string_view(uri).substr(head.size()));
  EXPECT_EQ(uri.size() - head.size(), (png.size() + 2) / 3 * 4);
  EXPECT_EQ(png[0], 0x89);
  EXPECT_EQ(png[19], 7);  // width
  EXPECT_EQ(png[23], 3);  // height
  // Grey of 8 bits, deflated, unfiltered, not interlaced.
  EXPECT_EQ(std::vector(png.begin() + 24, png.begin() + 29),
            (std::vector<unsigned char>{8, 0, 0, 0, 0}));
  // After the signature (8) and IHDR (25): the length, "IDAT", the data.
  const std::size_t size = png[35] << 8 | png[36];
  std::array<unsigned char, 24> rows{};
  uLongf room = rows.size();
  uLong used = size;
  ASSERT_EQ(uncompress2(rows.data(), &room, png.data() + 41, &used), Z_OK);
  ASSERT_EQ(room, 24u);
  EXPECT_EQ(used, size) << "nothing behind the data";
  for (std::size_t y = 0; y < 3; ++y) {
    EXPECT_EQ(rows[y * 8], 0);
    for (std::size_t x = 0; x < 7; ++x) EXPECT_EQ(rows[y * 8 + 1 + x], pixels[y * 7 + x]);
  }
  // A chunk is the length of its data, a type, the data, and the checksum of both.
  const auto u32 = [&](std::size_t at) {
    return static_cast<std::size_t>(png[at]) << 24 | png[at + 1] << 16 | png[at + 2] << 8 |
           png[at + 3];
  };
  std::string types;
  for (std::size_t at = 8; at < png.size();) {
    const std::size_t end = at + 8 + u32(at);
    ASSERT_LE(end + 4, png.size());
    types += std::string(png.begin() + static_cast<std::ptrdiff_t>(at + 4),
                         png.begin() + static_cast<std::ptrdiff_t>(at + 8)) +
             " ";
    EXPECT_EQ(u32(end), crc32(0, png.data() + at + 4, static_cast<uInt>(end - at - 4))) << types;
    at = end + 4;
  }
  EXPECT_EQ(types, "IHDR IDAT IEND ");
  EXPECT_THROW(png_uri({}, 1), Error);
  EXPECT_THROW(png_uri(pixels, 0), Error);
  EXPECT_THROW(png_uri(pixels, 5), Error);
}

}  // namespace
}  // namespace limpid::report
