// Byte-pair rules in the text form of files: tokens in GPT-2's byte alphabet, merges as two tokens
// separated by a space. Depends on byte_pair.h; included only by sources.
#pragma once

#include <string>
#include <vector>

#include "limpid/data/text/byte_pair.h"

namespace limpid::detail {

struct BytePairText {
  std::vector<std::string> tokens;  // in the byte alphabet; special tokens as they are
  std::vector<std::string> merges;  // "left right"
  std::vector<std::int32_t> special = {};
};

// Converts tokens, special tokens and merges to text and back. rules_of throws kFormat, naming it,
// for a token with a character outside the byte alphabet, and for a merge that is not two tokens.
BytePairText to_text(const BytePairRules& rules);
BytePairRules rules_of(const BytePairText& text);

}  // namespace limpid::detail
