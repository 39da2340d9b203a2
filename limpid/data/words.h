// The words that a text is cut into before its pairs of bytes are merged: no token crosses their
// borders. Leans on core/utf8.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace limpid {

// How words are cut, as regular expressions over Unicode say it; of alternatives, the first that
// fits. A byte that is not UTF-8 counts as a character that is neither letter, number nor space.
// * kGpt2:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// * kLlama3:
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
//   \s*[\r\n]+|\s+(?!\S)|\s+
enum class WordPattern : std::uint8_t { kGpt2, kLlama3 };

// The bytes of the first word of a text: 0 of an empty one, else 1 or more.
std::size_t first_word(std::string_view text, WordPattern pattern);

}  // namespace limpid
