// Drawing a token from logits: temperature, top-k (Fan et al. 2018, section 5.4) and top-p, the
// nucleus (Holtzman et al. 2020, section 3.1). Leans on kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "limpid/core/key.h"

namespace limpid::nn {

// How a token is drawn.
struct Sampling {
  double temperature = 1;  // 0: always the most likely token
  std::int64_t top_k = 0;  // only the k most likely tokens; 0: all
  double top_p = 1;        // only the most likely tokens that have this probability together
};

// A token that may be drawn, and its weight: e^((logit - largest logit) / temperature).
struct Choice {
  std::int32_t token = 0;
  double weight = 1;
};

// The tokens that may be drawn, largest logit first; among equal logits, smaller numbers first. At
// most top_k of them, then the fewest whose probabilities, after that, come to top_p or more. At
// temperature 0, the most likely token alone. Exponentials are those of f32, the rest is f64, so
// that the same logits give the same weights on every machine. Throws kInvalidArgument if there are
// no logits, one is NaN or +infinity, all are -infinity, or an option is out of range: temperature
// 0 or more, top_k 0 or more, top_p in (0, 1].
std::vector<Choice> choices(std::span<const float> logits, const Sampling& sampling);

// One of the choices, in proportion to its weight. The draw is word 0 of the key, so that the same
// logits and key give the same token on every machine. Throws what choices() throws.
std::int32_t sample(std::span<const float> logits, const Sampling& sampling, Key key);

}  // namespace limpid::nn
