// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF. Leans on
// nothing.
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

// The first code point of `text`; nothing where the text is empty or does not begin with one.
std::optional<CodePoint> first_code_point(std::string_view text);

// A code point as UTF-8: 1 to 4 bytes.
std::string utf8_of(char32_t c);

// Where the first byte stands that is no part of a code point; text.size() where all are.
std::size_t utf8_fault(std::string_view text);

}  // namespace limpid
