// NGram: the baseline of a language model, how often tokens followed one another. Interpolated
// Witten-Bell smoothing (Witten and Bell 1991, method C; Chen and Goodman 1999, section 2.4):
//
//   p(w | h) = (count(h w) + followers(h) p(w | h')) / (count(h) + followers(h))
//
// h being the n - 1 tokens before w, h' the same without the first of them, followers(h) the number
// of different tokens behind h; below the 1-gram is 1 / vocabulary. Leans on data and
// events.h.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "limpid/data/dataset.h"
#include "limpid/train/events.h"

namespace limpid::train {

// The counts of a text.
class NGram {
 public:
  // The largest order for which n tokens of the vocabulary fit into 64 bits, at most `most`.
  static int order_for(std::int64_t vocabulary, int most = 5);

  // Counts of orders 1 to `order`. Throws kInvalidArgument unless 1 <= order <=
  // order_for(vocabulary, order) and the tokens lie in [0, vocabulary).
  NGram(std::span<const std::int32_t> tokens, std::int64_t vocabulary, int order);

  // Of the longest runs that are counted.
  int order() const { return static_cast<int>(counts_.size()); }

  // Of `token` behind `before`, the last order - 1 of which count; fewer are enough. Throws as the
  // constructor does for a token outside of the vocabulary.
  double probability(std::span<const std::int32_t> before, std::int32_t token) const;

  // The mean of -ln p over the tokens of a text behind the first `skipped`, each behind all that
  // stand before it. Throws kInvalidArgument where none are left.
  double loss(std::span<const std::int32_t> tokens, std::int64_t skipped) const;

 private:
  struct Context {
    std::int64_t count = 0, followers = 0;
  };
  std::uint64_t packed(std::span<const std::int32_t> tokens) const;

  std::int64_t vocabulary_;
  int bits_;  // of a token
  // By n - 1: of n tokens, packed into one number; of the n - 1 tokens before the last.
  std::vector<std::unordered_map<std::uint64_t, std::int64_t>> counts_;
  std::vector<std::unordered_map<std::uint64_t, Context>> contexts_;
};

// What the n-gram of a text's training part, of order_for its vocabulary, makes of its test part:
// "ngram_perplexity" and "ngram_bits_per_token", over the tokens that are targets there. Throws
// kInvalidArgument where a part is no text in windows.
Numbers ngram_metrics(const Split& text);

}  // namespace limpid::train
