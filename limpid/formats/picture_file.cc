#include "limpid/formats/picture_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "limpid/formats/detail/picture_codec.h"

namespace limpid {
namespace {

using detail::Reporter;
using detail::StoredPicture;

bool begins_with(std::span<const std::byte> bytes, std::span<const unsigned char> magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

bool is_png(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> kPngMagic{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return begins_with(bytes, kPngMagic);
}

bool is_jpeg(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 3> kJpegMagic{0xff, 0xd8, 0xff};
  return begins_with(bytes, kJpegMagic);
}

StoredPicture read_stored(std::span<const std::byte> bytes, std::string_view where,
                          const PictureLimits& limits, bool samples) {
  const Reporter report("picture", where);
  const auto check = [&](std::int64_t height, std::int64_t width) {
    if (height > kMaxPictureSide || width > kMaxPictureSide || height * width > limits.pixels)
      report.unsupported("expected at most {} pixels, and {} a side, got {} x {}", limits.pixels,
                         kMaxPictureSide, height, width);
  };
  const auto need = [&](bool built, std::string_view format, std::string_view library) {
    if (!built)
      report.unsupported("this build reads no {}: it was made without {} (packages-pictures.txt)",
                         format, library);
  };
  if (is_png(bytes)) {
    need(detail::kReadsPng, "PNG", "libpng");
    return detail::read_png(bytes, report, check, samples);
  }
  if (is_jpeg(bytes)) {
    need(detail::kReadsJpeg, "JPEG", "libjpeg");
    return detail::read_jpeg(bytes, report, check, limits.scans, samples);
  }
  report.broken("expected a PNG or JPEG picture, got other bytes");
}

// Orientations 5 to 8 exchange rows and columns.
bool is_turned(const StoredPicture& stored) { return stored.orientation >= 5; }

// Removes the last channel, alpha, by putting the picture on black.
template <class T>
void put_on_black(std::vector<std::byte>& samples, std::int64_t pixels, std::int64_t channels) {
  // Written by memcpy: the vector has bytes. A pixel's place before and after overlap, but the new
  // one is never behind the old one.
  constexpr std::uint64_t kWhite = std::numeric_limits<T>::max();
  const auto at = [&](std::int64_t i) { return samples.data() + i * static_cast<int>(sizeof(T)); };
  for (std::int64_t p = 0; p < pixels; ++p) {
    T alpha = 0;
    std::memcpy(&alpha, at(p * channels + channels - 1), sizeof alpha);
    for (std::int64_t c = 0; c + 1 < channels; ++c) {
      T sample = 0;
      std::memcpy(&sample, at(p * channels + c), sizeof sample);
      sample = static_cast<T>((std::uint64_t{sample} * alpha + kWhite / 2) / kWhite);
      std::memcpy(at(p * (channels - 1) + c), &sample, sizeof sample);
    }
  }
  samples.resize(static_cast<std::size_t>(pixels * (channels - 1)) * sizeof(T));
}

}  // namespace

bool is_picture(std::span<const std::byte> bytes) { return is_png(bytes) || is_jpeg(bytes); }

PictureHeader read_picture_header(std::span<const std::byte> bytes, std::string_view where,
                                  const PictureLimits& limits) {
  const StoredPicture stored = read_stored(bytes, where, limits, false);
  PictureHeader header{stored.height, stored.width, stored.colour};
  if (is_turned(stored)) std::swap(header.height, header.width);
  return header;
}

DecodedPicture decode_picture(std::span<const std::byte> bytes, std::string_view where,
                              const PictureLimits& limits) {
  StoredPicture stored = read_stored(bytes, where, limits, true);
  if (stored.channels % 2 == 0) {
    const std::int64_t pixels = stored.height * stored.width;
    if (stored.wide)
      put_on_black<std::uint16_t>(stored.samples, pixels, stored.channels);
    else
      put_on_black<std::uint8_t>(stored.samples, pixels, stored.channels);
    --stored.channels;
  }
  DecodedPicture picture{.height = stored.height,
                         .width = stored.width,
                         .channels = stored.channels,
                         .white = stored.wide ? 65535 : 255,
                         .samples = std::move(stored.samples)};
  // Where the stored rows and columns begin and in which direction they go, by orientation: from
  // the right in 2, 3, 7 and 8 (of the stored picture), from below in 3, 4, 6 and 7.
  const std::int64_t column = picture.channels, row = picture.channels * stored.width;
  const int o = stored.orientation;
  const bool from_right = o == 2 || o == 3 || o == 7 || o == 8;
  const bool from_below = o == 3 || o == 4 || o == 6 || o == 7;
  picture.first =
      (from_right ? (stored.width - 1) * column : 0) + (from_below ? (stored.height - 1) * row : 0);
  picture.right = from_right ? -column : column;
  picture.down = from_below ? -row : row;
  if (is_turned(stored)) {
    std::swap(picture.height, picture.width);
    std::swap(picture.right, picture.down);
  }
  return picture;
}

namespace detail {

int exif_orientation(std::span<const std::byte> tiff) {
  constexpr std::size_t kHeader = 8, kEntry = 12;
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;
  if (tiff.size() < kHeader) return 1;
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(tiff[i]); };
  const bool little = byte(0) == 'I' && byte(1) == 'I';
  if (!little && !(byte(0) == 'M' && byte(1) == 'M')) return 1;
  const auto number = [&](std::size_t at, std::size_t count) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
      value = value << 8 | byte(little ? at + count - 1 - i : at + i);
    return value;
  };
  const std::size_t directory = number(4, 4);
  if (number(2, 2) != 42 || directory > tiff.size() - 2) return 1;
  const std::size_t entries =
      std::min<std::size_t>(number(directory, 2), (tiff.size() - directory - 2) / kEntry);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntry;
    if (number(entry, 2) != kOrientation || number(entry + 2, 2) != kShort) continue;
    const std::uint32_t value = number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace detail
}  // namespace limpid
