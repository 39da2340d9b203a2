// Dropout: inverted, by a key; without a key, at inference, the identity.
#pragma once

#include <optional>

#include "limpid/function/value.h"
#include "limpid/ops/random.h"

namespace limpid::nn {

struct Dropout {
  double rate = 0.5;

  // x (...) with each element 0 at the given rate, else divided by 1 - rate; x itself without a
  // key.
  Value operator()(const Args&, Value x, std::optional<Value> key = {}) const {
    return key && rate > 0 ? dropout(x, *key, rate) : x;
  }
};

}  // namespace limpid::nn
