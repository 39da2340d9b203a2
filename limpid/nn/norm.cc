#include "limpid/nn/norm.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/nn/init.h"
#include "limpid/ops/norm.h"
#include "limpid/ops/picture.h"

namespace limpid::nn {
namespace {

// No key is needed: the parameters are constants, not random.
Params weight_and_bias(std::int64_t features, bool bias) {
  Params params{{"weight", constant(1)(Key(0), {features})}};
  if (bias) params.set("bias", zeros()(Key(0), {features}));
  return params;
}

}  // namespace

Params LayerNorm::init(Key) const { return weight_and_bias(features, bias); }
Value LayerNorm::operator()(const Args& params, Value x) const {
  return layer_norm(x, params.at("weight"), bias ? params.at("bias") : Value(), eps);
}

Params RmsNorm::init(Key) const { return weight_and_bias(features, false); }
Value RmsNorm::operator()(const Args& params, Value x) const {
  return rms_norm(x, params.at("weight"), eps);
}

Params GroupNorm::init(Key) const { return weight_and_bias(channels, true); }
Value GroupNorm::operator()(const Args& params, Value x) const {
  return group_norm(x, groups, params.at("weight"), params.at("bias"), eps);
}

Params InstanceNorm::init(Key) const { return affine ? weight_and_bias(features, true) : Params(); }
Value InstanceNorm::operator()(const Args& params, Value x) const {
  if (x.rank() < 2 || x.shape()[1] != features)
    throw Error(ErrorCode::kShape, fmt::format("InstanceNorm: input is {}, expected (N, {}, ...)",
                                               to_string(x.type()), features));
  return instance_norm(x, affine ? params.at("weight") : Value(),
                       affine ? params.at("bias") : Value(), eps);
}

Params BatchNorm::init(Key) const { return weight_and_bias(features, true); }
Params BatchNorm::init_state() const {
  return {{"running_mean", zeros()(Key(0), {features})},
          {"running_var", constant(1)(Key(0), {features})}};
}
BatchNorm::Result BatchNorm::operator()(const Args& params, const Args& state, Value x) const {
  const BatchNormResult r =
      batch_norm(x, params.at("weight"), params.at("bias"), state.at("running_mean"),
                 state.at("running_var"), momentum, eps);
  return {r.y, {{"running_mean", r.running_mean}, {"running_var", r.running_var}}};
}
Value BatchNorm::inference(const Args& params, const Args& state, Value x) const {
  return batch_norm_inference(x, params.at("weight"), params.at("bias"), state.at("running_mean"),
                              state.at("running_var"), eps);
}

}  // namespace limpid::nn
