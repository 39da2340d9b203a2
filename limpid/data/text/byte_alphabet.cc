// GPT-2's alphabet of bytes.
#include <array>

#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/byte_alphabet.h"

namespace limpid::detail {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
  std::array<char32_t, 256> characters{};
  std::array<unsigned char, 256 + 68> bytes{};  // of the characters below U+0144
  std::array<bool, 256 + 68> known{};
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  char32_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t c = stands_for_itself(byte) ? byte : next++;
    alphabet.characters[byte] = c;
    alphabet.bytes[c] = static_cast<unsigned char>(byte);
    alphabet.known[c] = true;
  }
  return alphabet;
}();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    text += utf8_of(kAlphabet.characters[static_cast<unsigned char>(byte)]);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  while (const std::optional<CodePoint> point = first_code_point(text)) {
    if (point->value >= kAlphabet.known.size() || !kAlphabet.known[point->value]) return {};
    bytes.push_back(static_cast<char>(kAlphabet.bytes[point->value]));
    text.remove_prefix(point->bytes);
  }
  if (!text.empty()) return {};
  return bytes;
}

}  // namespace limpid::detail
