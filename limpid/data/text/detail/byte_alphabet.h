// Bytes as text: GPT-2's files write every byte as a printable character. Depends on core/utf8.h;
// included only by sources.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace limpid::detail {

// The bytes 0x21 to 0x7e, 0xa1 to 0xac and 0xae to 0xff become the character with the same code
// point; the others become, in order, U+0100, U+0101, ...
std::string to_byte_alphabet(std::string_view bytes);
// The inverse; nullopt for a text with another character.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace limpid::detail
