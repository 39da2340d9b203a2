// Byte-pair encoding over bytes (Sennrich et al. 2016; Radford et al. 2019): a text is split into
// words; in each word, pairs of tokens are merged in the order in which the merges were learnt.
// Depends on pre_tokenizer.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "limpid/data/text/pre_tokenizer.h"

namespace limpid {

// The learnt vocabulary and merges.
struct BytePairRules {
  using Pair = std::pair<std::int32_t, std::int32_t>;

  std::vector<std::string> tokens;         // the bytes of each token
  std::vector<Pair> merges;                // pairs of tokens to merge, in the order of learning
  std::vector<std::int32_t> special = {};  // tokens outside the text, such as BOS and EOS
  PreTokenizer pre_tokenizer = PreTokenizer::kGpt2;
  bool whole_words = false;  // a word that is a token becomes that token, without merges

  bool operator==(const BytePairRules&) const = default;
};

// The maximum numbers of tokens and merges.
inline constexpr std::size_t kMaxTokens = std::size_t{1} << 18;
inline constexpr std::size_t kMaxMerges = std::size_t{1} << 19;

// A byte-pair encoder and decoder.
class BytePair {
 public:
  // Throws kFormat if a byte has no token, a token is empty or repeated, or a merge is repeated or
  // its result is not a token; kUnsupported beyond the limits above.
  explicit BytePair(BytePairRules rules);
  BytePair(const BytePair&) = delete;
  BytePair& operator=(const BytePair&) = delete;

  const BytePairRules& rules() const { return rules_; }

  // The tokens of any bytes. In each word, the pair whose merge was learnt first is merged (the
  // leftmost of several), until no pair is left. Takes linear time in the text, n log n in a word
  // of n bytes.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // The bytes of the tokens. Throws kInvalidArgument for an unknown token id.
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
  std::unordered_map<std::string_view, std::int32_t> numbers_;  // ids, without special tokens
  std::unordered_map<std::uint64_t, Merge> merges_;             // by both tokens
};

}  // namespace limpid
