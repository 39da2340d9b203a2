// Pre-tokenisation: splits a text into words before byte-pair merges. No token crosses a word
// boundary. Depends on core/utf8.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "limpid/core/enum_names.h"

namespace limpid {

// The word patterns, as Unicode regular expressions; the first alternative that matches is used. An
// invalid UTF-8 byte counts as a character that is neither letter, number nor space.
// * kGpt2:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// * kLlama3:
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
//   \s*[\r\n]+|\s+(?!\S)|\s+
// * kQwen2: that of Llama 3 with \p{N} instead of \p{N}{1,3}
enum class PreTokenizer : std::uint8_t { kGpt2, kLlama3, kQwen2 };
constexpr EnumNames<3> enum_names(PreTokenizer) {
  return {"pre-tokenizer", {"gpt2", "llama3", "qwen2"}};
}

// The pattern as tokenizer files write it.
std::string_view expression_of(PreTokenizer pattern);

// The length in bytes of the first word; 0 only for an empty text.
std::size_t first_word(std::string_view text, PreTokenizer pattern);

}  // namespace limpid
