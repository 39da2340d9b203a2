// Byte pairs as text, the way that files have them: tokens in GPT-2's alphabet of bytes, merges as
// two tokens with a space between. Leans on byte_pair.h; included by sources alone.
#pragma once

#include <string>
#include <vector>

#include "limpid/data/byte_pair.h"

namespace limpid::detail {

struct BytePairText {
  std::vector<std::string> tokens;  // in the alphabet; special ones as they are
  std::vector<std::string> merges;  // "left right"
  std::vector<std::int32_t> special = {};
};

// The tokens, special tokens and merges of rules, and back. Throws kFormat, naming it, for a token
// with a character that stands for no byte, and for a merge that is not of two tokens.
BytePairText to_text(const BytePairRules& rules);
BytePairRules rules_of(const BytePairText& text);

}  // namespace limpid::detail
