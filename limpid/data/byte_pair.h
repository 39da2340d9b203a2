// Byte-pair encoding over bytes (Sennrich et al. 2016; Radford et al. 2019): a text is cut into
// words, and in each the pairs of tokens that were merged first when the vocabulary was learnt are
// merged first. Leans on words.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "limpid/data/words.h"

namespace limpid {

// What was learnt.
struct BytePairRules {
  using Pair = std::pair<std::int32_t, std::int32_t>;

  std::vector<std::string> tokens;         // the bytes that each stands for
  std::vector<Pair> merges;                // two tokens that become one, the first learnt first
  std::vector<std::int32_t> special = {};  // tokens that no text becomes: ends of texts, and such
  WordPattern words = WordPattern::kGpt2;
  bool whole_words = false;  // a word that is a token is that token, whatever the merges say

  bool operator==(const BytePairRules&) const = default;
};

// The most tokens and merges that rules have.
inline constexpr std::size_t kMaxTokens = std::size_t{1} << 18;
inline constexpr std::size_t kMaxMerges = std::size_t{1} << 19;

// Rules, indexed: text to tokens, and back.
class BytePair {
 public:
  // Throws kFormat where a byte has no token, a token is empty or comes twice, or a merge comes
  // twice or makes no token; kUnsupported beyond the limits above.
  explicit BytePair(BytePairRules rules);
  BytePair(const BytePair&) = delete;
  BytePair& operator=(const BytePair&) = delete;

  const BytePairRules& rules() const { return rules_; }

  // The tokens of any bytes: in each word, the pair of the first merge, of several the leftmost, is
  // merged until none is left. The time grows with n, in a word of n bytes with n log n.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // Throws kInvalidArgument for a number that no token has.
  std::string decode(std::span<const std::int32_t> tokens) const;

 private:
  struct Merge {
    std::int32_t rank;
    std::int32_t result;
  };
  class Word;

  void index_tokens();
  void index_merges();
  void append_word(std::string_view word, Word& merging, std::vector<std::int32_t>& tokens) const;

  BytePairRules rules_;
  std::int32_t byte_tokens_[256];
  std::unordered_map<std::string_view, std::int32_t> numbers_;  // of tokens that are not special
  std::unordered_map<std::uint64_t, Merge> merges_;             // by both tokens
};

}  // namespace limpid
