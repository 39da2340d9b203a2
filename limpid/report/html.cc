#include "limpid/report/html.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "limpid/core/base64.h"
#include "limpid/core/error.h"
#include "limpid/core/utf8.h"

namespace limpid::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The bytes of the UTF-8 character at the front of `text`; 0 where there is none.
std::size_t character_size(std::string_view text) {
  const std::optional<CodePoint> first = first_code_point(text);
  return first ? first->bytes : 0;
}

using Bytes = std::vector<unsigned char>;

void append_u32(Bytes& bytes, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<unsigned char>(v >> shift));
}

void append_chunk(Bytes& png, std::string_view type, std::span<const unsigned char> data) {
  append_u32(png, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = png.size();
  png.insert(png.end(), type.begin(), type.end());
  png.insert(png.end(), data.begin(), data.end());
  append_u32(png, static_cast<std::uint32_t>(
                      crc32(0, png.data() + begin, static_cast<uInt>(png.size() - begin))));
}

// Grey of 8 bits, every row unfiltered (PNG, third edition, section 11).
Bytes png_of(std::span<const std::uint8_t> pixels, std::size_t width) {
  const std::size_t height = pixels.size() / width;
  Bytes rows;
  for (std::size_t y = 0; y < height; ++y) {
    rows.push_back(0);
    const auto row = pixels.subspan(y * width, width);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  uLongf size = compressBound(rows.size());
  Bytes packed(size);
  if (compress(packed.data(), &size, rows.data(), rows.size()) != Z_OK)
    throw Error(ErrorCode::kInternal, "png: zlib failed to compress");
  packed.resize(size);

  Bytes png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  Bytes header;
  append_u32(header, static_cast<std::uint32_t>(width));
  append_u32(header, static_cast<std::uint32_t>(height));
  header.insert(header.end(), {8, 0, 0, 0, 0});
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", packed);
  append_chunk(png, "IEND", {});
  return png;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const char c = text[0];
    const bool control =
        size == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) && c != '\n' && c != '\t';
    if (size == 0 || control)
      result += kReplacement;
    else if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else
      result += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

std::string png_uri(std::span<const std::uint8_t> pixels, std::int64_t width) {
  if (width <= 0 || pixels.empty() || pixels.size() % static_cast<std::size_t>(width) != 0)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("png: {} pixels do not make an image with rows of {}", pixels.size(), width));
  const Bytes png = png_of(pixels, static_cast<std::size_t>(width));
  return "data:image/png;base64," + base64(std::as_bytes(std::span(png)));
}

}  // namespace limpid::report
