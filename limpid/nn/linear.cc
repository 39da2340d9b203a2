#include "limpid/nn/linear.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/ops/matmul.h"

namespace limpid::nn {

Params Linear::init(Key key) const {
  Params params{{"weight", weight_init(key, {out, in})}};
  if (bias) params.set("bias", zeros()(key, {out}));
  return params;
}

Value Linear::operator()(const Args& params, Value x) const {
  const Value& weight = params.at("weight");
  // The op takes any weight that x fits: that of a layer of another size, too.
  if (const Shape expected{out, in}; !(weight.shape() == expected))
    throw Error(ErrorCode::kShape, fmt::format("Linear: weight: expected the shape {}, got {}",
                                               to_string(expected), to_string(weight.shape())));
  return linear(x, weight, bias ? params.at("bias") : Value());
}

}  // namespace limpid::nn
