// Linear: y = x weight^T + bias, on the last dimension.
#pragma once

#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/value.h"
#include "limpid/nn/init.h"

namespace limpid::nn {

struct Linear {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = true;
  Init weight_init = kaiming_normal(1.4142135623730951);

  // "weight" (out, in), drawn by weight_init; "bias" (out), zeros.
  Params init(Key key) const;
  // x (..., in) to (..., out). Throws kShape, kDtype.
  Value operator()(const Args& params, Value x) const;
};

}  // namespace limpid::nn
