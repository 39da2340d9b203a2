// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace limpid {

struct CodePoint {
  char32_t value;
  std::size_t bytes;  // 1 to 4
};

// The first code point of `text`; nullopt if the text is empty or does not begin with one.
std::optional<CodePoint> first_code_point(std::string_view text);

// A code point as UTF-8: 1 to 4 bytes.
std::string utf8_of(char32_t c);

// The position of the first byte that is not part of a code point; text.size() if the text is
// valid.
std::size_t utf8_fault(std::string_view text);
inline bool is_utf8(std::string_view text) { return utf8_fault(text) == text.size(); }

// Whether a byte is in a character, but not its first.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// The number of code points of a valid text.
std::size_t utf8_length(std::string_view text);

}  // namespace limpid
