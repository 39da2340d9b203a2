// The character classes of tokenizer patterns: \p{L}, \p{N} and \s of Unicode 15.0. Included only
// by sources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace limpid::detail {

enum class CharacterClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

// Sorted entries: a code point times 4, plus the class from there on in the last two bits.
inline constexpr std::uint32_t kClassChanges[] = {
#include "limpid/data/text/detail/unicode_classes.inc"
};

constexpr CharacterClass class_of(char32_t c) {
  const std::uint32_t* const behind = std::upper_bound(
      std::begin(kClassChanges), std::end(kClassChanges), static_cast<std::uint32_t>(c) << 2 | 3);
  return behind == std::begin(kClassChanges) ? CharacterClass::kOther
                                             : static_cast<CharacterClass>(behind[-1] & 3);
}

}  // namespace limpid::detail
