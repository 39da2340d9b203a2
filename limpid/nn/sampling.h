// Sampling a token from logits: temperature, top-k (Fan et al. 2018, section 5.4) and top-p
// (nucleus sampling, Holtzman et al. 2020, section 3.1). Depends on kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "limpid/core/key.h"

namespace limpid::nn {

// Options of sample().
struct Sampling {
  double temperature = 1;  // 0: always the most probable token
  std::int64_t top_k = 0;  // only the k most probable tokens; 0: all
  double top_p = 1;        // only the most probable tokens whose total probability reaches this
  double min_p = 0;  // only tokens at least this probable, as a share of the most probable one's
};

// A candidate token and its weight: e^((logit - largest logit) / temperature).
struct Choice {
  std::int32_t token = 0;
  double weight = 1;
};

// The candidate tokens, largest logit first; equal logits by token id. top_k is applied first; then
// top_p keeps the fewest tokens whose renormalised probabilities sum to top_p or more; then min_p
// keeps those whose weight is min_p or more. At temperature 0, only the most probable token.
// Exponentials are computed in f32 and the rest in f64, with the same bits on every machine. Throws
// kInvalidArgument if there are no logits, one is NaN or +infinity, all are -infinity, or an option
// is out of range: temperature 0 or more, top_k 0 or more, top_p in (0, 1], min_p in [0, 1].
std::vector<Choice> choices(std::span<const float> logits, const Sampling& sampling);

// Samples one of choices() in proportion to its weight, by word 0 of the key. The same logits and
// key give the same token on every machine. Throws what choices() throws.
std::int32_t sample(std::span<const float> logits, const Sampling& sampling, Key key);

}  // namespace limpid::nn
