// The classes of characters that the patterns of tokenizers tell apart: \p{L}, \p{N} and \s of
// Unicode 15.0. Leans on nothing; included by sources alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace limpid::detail {

enum class CharacterClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

// Sorted: a code point times 4, and in the last two bits the class from there on.
inline constexpr std::uint32_t kClassChanges[] = {
#include "limpid/data/detail/unicode_classes.inc"
};

constexpr CharacterClass class_of(char32_t c) {
  const std::uint32_t* const behind = std::upper_bound(
      std::begin(kClassChanges), std::end(kClassChanges), static_cast<std::uint32_t>(c) << 2 | 3);
  return behind == std::begin(kClassChanges) ? CharacterClass::kOther
                                             : static_cast<CharacterClass>(behind[-1] & 3);
}

}  // namespace limpid::detail
