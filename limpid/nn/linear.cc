#include "limpid/nn/linear.h"

#include "limpid/ops/matmul.h"

namespace limpid::nn {

Params Linear::init(Key key) const {
  Params params{{"weight", weight_init(key, {out, in})}};
  if (bias) params.set("bias", zeros()(key, {out}));
  return params;
}

Value Linear::operator()(const Args& params, Value x) const {
  return linear(x, params.at("weight"), bias ? params.at("bias") : Value());
}

}  // namespace limpid::nn
