#include "limpid/core/utf8.h"

#include <algorithm>

namespace limpid {
namespace {

// What the first byte of a sequence tells: the length, the payload bits of that byte, and the
// smallest code point of this length.
struct Form {
  std::size_t bytes;
  unsigned mask;
  char32_t least;
};

std::optional<Form> form_of(unsigned first) {
  if (first < 0x80) return Form{1, 0x7f, 0};
  if (first >= 0xc0 && first < 0xe0) return Form{2, 0x1f, 0x80};
  if (first >= 0xe0 && first < 0xf0) return Form{3, 0x0f, 0x800};
  if (first >= 0xf0 && first < 0xf8) return Form{4, 0x07, 0x10000};
  return {};
}

}  // namespace

std::optional<CodePoint> first_code_point(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::optional<Form> form = form_of(byte(0));
  if (!form || text.size() < form->bytes) return {};
  char32_t value = byte(0) & form->mask;
  for (std::size_t i = 1; i < form->bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < form->least || value > 0x10ffff || surrogate) return {};
  return CodePoint{value, form->bytes};
}

std::string utf8_of(char32_t c) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
  if (c < 0x10000)
    return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
  return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)),
          byte(0x80 | (c & 0x3f))};
}

std::size_t utf8_fault(std::string_view text) {
  std::size_t place = 0;
  while (const std::optional<CodePoint> point = first_code_point(text.substr(place)))
    place += point->bytes;
  return place;
}

std::size_t utf8_length(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_character));
}

}  // namespace limpid
