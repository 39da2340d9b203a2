#include "limpid/formats/png_writer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <string_view>

#include "limpid/core/error.h"

namespace limpid {
namespace {

constexpr std::int64_t kMostPngSide = 65'536, kMostPngNumbers = 1 << 30;

// PNG's numbers have their highest byte first.
void put_number(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<std::byte>(number >> shift & 0xff));
}

// Length, type, data, and the CRC of type and data.
void put_chunk(std::vector<std::byte>& bytes, std::string_view type,
               std::span<const std::byte> data) {
  put_number(bytes, data.size());
  const std::size_t begin = bytes.size();
  const auto name = std::as_bytes(std::span(type));
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  put_number(bytes, crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data() + begin),
                            bytes.size() - begin));
}

}  // namespace

std::vector<std::byte> png_bytes(std::int64_t height, std::int64_t width, std::int64_t channels,
                                 std::span<const std::uint8_t> pixels) {
  const bool sides = height >= 1 && height <= kMostPngSide && width >= 1 && width <= kMostPngSide;
  if (!sides || (channels != 1 && channels != 3) || height * width * channels > kMostPngNumbers ||
      pixels.size() != static_cast<std::size_t>(height * width * channels))
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("png: expected sides from 1 to {}, 1 or 3 channels, and as many numbers, at "
                    "most {}; got {} x {} pixels with {} channels in {} numbers",
                    kMostPngSide, kMostPngNumbers, height, width, channels, pixels.size()));
  // Each row has a byte for its filter: 0, none.
  const auto row = static_cast<std::size_t>(width * channels);
  std::vector<std::uint8_t> rows;
  rows.reserve((row + 1) * static_cast<std::size_t>(height));
  for (std::size_t begin = 0; begin < pixels.size(); begin += row) {
    rows.push_back(0);
    rows.insert(rows.end(), pixels.begin() + static_cast<std::ptrdiff_t>(begin),
                pixels.begin() + static_cast<std::ptrdiff_t>(begin + row));
  }
  uLongf size = compressBound(rows.size());
  std::vector<std::byte> packed(size);
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size, rows.data(), rows.size()) != Z_OK)
    throw Error(ErrorCode::kNoMemory, "png: no memory to compress the pixels");
  packed.resize(size);

  constexpr std::uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const auto signature = std::as_bytes(std::span(kSignature));
  std::vector<std::byte> bytes(signature.begin(), signature.end());
  std::vector<std::byte> header;
  put_number(header, static_cast<std::uint64_t>(width));
  put_number(header, static_cast<std::uint64_t>(height));
  constexpr std::byte kBits{8}, kGrey{0}, kRgb{2}, kUsual{0};
  // Depth, colours; compression, filters and interlacing of which there is one kind here.
  header.insert(header.end(), {kBits, channels == 1 ? kGrey : kRgb, kUsual, kUsual, kUsual});
  put_chunk(bytes, "IHDR", header);
  put_chunk(bytes, "IDAT", packed);
  put_chunk(bytes, "IEND", {});
  return bytes;
}

}  // namespace limpid
