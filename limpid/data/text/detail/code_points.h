// The code points of a text that is known to be UTF-8. Included only by sources.
#pragma once

#include <cstddef>
#include <string_view>

#include "limpid/core/utf8.h"

namespace limpid::detail {

// The code point that begins at `place`, which is within the text.
inline CodePoint code_point_at(std::string_view text, std::size_t place) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[place + i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first < 0xf0) return {(first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f),
          4};
}

// Where the code point before `place` begins; place > 0.
inline std::size_t before_place(std::string_view text, std::size_t place) {
  do --place;
  while (continues_character(text[place]));
  return place;
}

}  // namespace limpid::detail
