// Dropout: inverted dropout (Srivastava et al. 2014). Without a key (at inference) it is the
// identity.
#pragma once

#include <optional>

#include "limpid/function/value.h"
#include "limpid/ops/random.h"

namespace limpid::nn {

struct Dropout {
  double rate = 0.5;

  // x (...) with each element set to 0 with probability `rate`, else divided by 1 - rate. Without a
  // key, x itself.
  Value operator()(const Args&, Value x, std::optional<Value> key = {}) const {
    return key && rate > 0 ? dropout(x, *key, rate) : x;
  }
};

// x (N, C, ...) with whole channels dropped (Tompson et al. 2015), as PyTorch's Dropout1d to 3d.
struct Dropout2d {
  double rate = 0.5;

  // Each channel of each example is set to 0 with probability `rate`, else divided by 1 - rate.
  // Without a key, x itself. Throws kShape.
  Value operator()(const Args&, Value x, std::optional<Value> key = {}) const {
    return key && rate > 0 ? channel_dropout(x, *key, rate) : x;
  }
};

}  // namespace limpid::nn
