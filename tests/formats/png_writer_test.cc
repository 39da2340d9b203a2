#include "limpid/formats/png_writer.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/refusals.h"

namespace limpid {
namespace {

// The chunks of a PNG, whose CRCs are checked.
struct PngChunk {
  std::string type;
  std::vector<std::uint8_t> data;
};

std::uint32_t number_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at]) << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 |
         bytes[at + 3];
}

std::vector<PngChunk> chunks_of(std::span<const std::byte> png) {
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(png.data()),
                                            png.size());
  EXPECT_EQ(std::memcmp(bytes.data(), "\x89PNG\r\n\x1a\n", 8), 0);
  std::vector<PngChunk> chunks;
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    const std::size_t length = number_at(bytes, at);
    if (at + 12 + length > bytes.size()) {
      ADD_FAILURE() << "a chunk ends behind the file";
      break;
    }
    const auto body = bytes.subspan(at + 4, 4 + length);
    EXPECT_EQ(crc32(0, body.data(), static_cast<uInt>(body.size())),
              number_at(bytes, at + 8 + length));
    chunks.push_back({std::string(body.begin(), body.begin() + 4), {body.begin() + 4, body.end()}});
    at += 12 + length;
  }
  return chunks;
}

TEST(Png, HasItsPixelsRowByRow) {
  for (const std::int64_t channels : {1, 3}) {
    constexpr std::int64_t kHeight = 5, kWidth = 300;
    std::vector<std::uint8_t> pixels;
    for (std::int64_t i = 0; i < kHeight * kWidth * channels; ++i)
      pixels.push_back(static_cast<std::uint8_t>(i * i % 251));
    const std::vector<PngChunk> chunks = chunks_of(png_bytes(kHeight, kWidth, channels, pixels));
    ASSERT_EQ(chunks.size(), 3u);
    EXPECT_EQ(chunks[0].type, "IHDR");
    const std::uint8_t colours = channels == 1 ? 0 : 2;
    EXPECT_EQ(chunks[0].data,
              (std::vector<std::uint8_t>{0, 0, 1, 44, 0, 0, 0, 5, 8, colours, 0, 0, 0}));
    EXPECT_EQ(chunks[1].type, "IDAT");
    const auto row = static_cast<std::size_t>(kWidth * channels);
    std::vector<std::uint8_t> rows(kHeight * (row + 1));
    uLongf size = rows.size();
    ASSERT_EQ(uncompress(rows.data(), &size, chunks[1].data.data(), chunks[1].data.size()), Z_OK);
    ASSERT_EQ(size, rows.size());
    for (std::size_t y = 0; y < kHeight; ++y) {
      EXPECT_EQ(rows[y * (row + 1)], 0);  // no filter
      EXPECT_EQ(std::memcmp(&rows[y * (row + 1) + 1], &pixels[y * row], row), 0) << y;
    }
    EXPECT_EQ(chunks[2].type, "IEND");
    EXPECT_TRUE(chunks[2].data.empty());
  }
}

TEST(Png, RefusesOtherPictures) {
  const std::vector<std::uint8_t> four(4);
  expect_refused(ErrorCode::kInvalidArgument, [&] { png_bytes(2, 2, 2, four); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { png_bytes(0, 4, 1, four); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { png_bytes(1, 65'537, 1, four); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { png_bytes(2, 3, 1, four); });
}

}  // namespace
}  // namespace limpid
