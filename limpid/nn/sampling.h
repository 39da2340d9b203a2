// Drawing a token from logits: temperature, top-k (Fan et al. 2018, section 5.4) and top-p, the
// nucleus (Holtzman et al. 2020, section 3.1). Leans on core.
#pragma once

#include <cstdint>
#include <span>

#include "limpid/core/key.h"

namespace limpid::nn {

// How a token is drawn.
struct Sampling {
  double temperature = 1;  // 0: always the most likely token
  std::int64_t top_k = 0;  // only the k most likely tokens; 0: all
  double top_p = 1;        // only the most likely tokens that have this probability together
};

// A token in proportion to e^(logit / temperature) among those that are left: at most top_k of
// them, then the fewest whose probabilities, after that, come to top_p or more. Among equal logits
// those of smaller numbers come first. The draw is word 0 of the key. Exponentials are those of
// f32, the rest is f64, so that the same logits and key give the same token on every machine.
// Throws kInvalidArgument where there are no logits, one is NaN or +infinity, all are -infinity, or
// an option is out of range: temperature 0 or more, top_k 0 or more, top_p in (0, 1].
std::int32_t sample(std::span<const float> logits, const Sampling& sampling, Key key);

}  // namespace limpid::nn
