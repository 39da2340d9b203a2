#include "limpid/nn/feed_forward.h"

#include "limpid/nn/dropout.h"
#include "limpid/nn/sequential.h"

namespace limpid::nn {
namespace {

Linear first_of(const FeedForward& f) { return {f.features, f.hidden, true, f.weight_init}; }
Linear second_of(const FeedForward& f) { return {f.hidden, f.features, true, f.weight_init}; }

Linear inner_of(const GatedFeedForward& f) { return {f.features, f.hidden, f.bias, f.weight_init}; }
Linear outer_of(const GatedFeedForward& f) { return {f.hidden, f.features, f.bias, f.weight_init}; }

}  // namespace

Params FeedForward::init(Key key) const {
  Params params;
  params.merge("linear1", first_of(*this).init(key.fold_in(0)));
  params.merge("linear2", second_of(*this).init(key.fold_in(1)));
  return params;
}

Value FeedForward::operator()(const Args& params, Value x, std::optional<Value> key) const {
  const Value h = activation(apply_part(first_of(*this), "linear1", params, x));
  return apply_part(second_of(*this), "linear2", params, Dropout{dropout}({}, h, key));
}

Params GatedFeedForward::init(Key key) const {
  Params params;
  params.merge("gate_proj", inner_of(*this).init(key.fold_in(0)));
  params.merge("up_proj", inner_of(*this).init(key.fold_in(1)));
  params.merge("down_proj", outer_of(*this).init(key.fold_in(2)));
  return params;
}

Value GatedFeedForward::operator()(const Args& params, Value x) const {
  const Value g = apply_part(inner_of(*this), "gate_proj", params, x);
  const Value up = apply_part(inner_of(*this), "up_proj", params, x);
  return apply_part(outer_of(*this), "down_proj", params, gate(g, up));
}

}  // namespace limpid::nn
