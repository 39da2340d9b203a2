// NGram: an n-gram model, a baseline for language models. Interpolated Witten-Bell smoothing
// (Witten and Bell 1991, method C; Chen and Goodman 1999, section 2.4):
//
//   p(w | h) = (count(h w) + followers(h) p(w | h')) / (count(h) + followers(h))
//
// where h is the n - 1 tokens before w, h' is h without its first token, and followers(h) is the
// number of distinct tokens after h. Below the 1-gram, p is 1 / vocabulary. Depends on data and
// events.h.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "limpid/data/dataset.h"
#include "limpid/train/log/events.h"

namespace limpid::train {

// The n-gram counts of a text.
class NGram {
 public:
  // The largest order n, at most `most`, for which n tokens of the vocabulary fit into 64 bits.
  static int order_for(std::int64_t vocabulary, int most = 5);

  // Counts of orders 1 to `order` in tokens i32 [n], which are read in blocks. Throws
  // kInvalidArgument unless 1 <= order <= order_for(vocabulary, order) and the tokens lie in [0,
  // vocabulary).
  NGram(const Tensor& tokens, std::int64_t vocabulary, int order);

  // The order of the longest n-grams.
  int order() const { return static_cast<int>(counts_.size()); }

  // The probability of `token` after `before`, of which the last order() - 1 tokens count; it may
  // have fewer. Throws kInvalidArgument for a token outside of the vocabulary.
  double probability(std::span<const std::int32_t> before, std::int32_t token) const;

  // The mean of -ln p over the tokens of a text after the first `skipped`, each given all tokens
  // before it. Throws kInvalidArgument if no tokens are left.
  double loss(const Tensor& tokens, std::int64_t skipped) const;

 private:
  struct Context {
    std::int64_t count = 0, followers = 0;
  };
  std::uint64_t packed(std::span<const std::int32_t> tokens) const;

  std::int64_t vocabulary_;
  int bits_;  // bits per token
  // Indexed by n - 1: the counts of n-grams, packed into one number, and of their contexts, the
  // first n - 1 tokens.
  std::vector<std::unordered_map<std::uint64_t, std::int64_t>> counts_;
  std::vector<std::unordered_map<std::uint64_t, Context>> contexts_;
};

// The baseline on a text: "ngram_perplexity" and "ngram_bits_per_token" on the targets of the test
// set, for an NGram of the training set of order order_for(vocabulary), of which it counts the
// first 2^20 tokens. Throws kInvalidArgument unless both sets are windows of a text.
Numbers ngram_metrics(const Split& text);

}  // namespace limpid::train
