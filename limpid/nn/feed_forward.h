// The feed-forward parts of a transformer's block: plain and gated.
#pragma once

#include <optional>

#include "limpid/nn/linear.h"
#include "limpid/ops/activation.h"

namespace limpid::nn {

// linear2(dropout(activation(linear1(x)))), named as in PyTorch's TransformerEncoderLayer.
struct FeedForward {
  std::int64_t features = 0;
  std::int64_t hidden = 0;  // usually 4 features
  Value (*activation)(Value) = relu;
  double dropout = 0;
  Init weight_init = xavier_uniform();

  // "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias".
  Params init(Key key) const;
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;
};

// down_proj(gate(gate_proj(x), up_proj(x))), named as in Llama; 8/3 features of hidden width keep
// the parameters of a plain one.
struct GatedFeedForward {
  std::int64_t features = 0;
  std::int64_t hidden = 0;
  Value (*gate)(Value gate, Value value) = swiglu;
  bool bias = false;
  Init weight_init = normal(0.02);

  // "gate_proj.weight", "up_proj.weight", "down_proj.weight", and biases.
  Params init(Key key) const;
  Value operator()(const Args& params, Value x) const;
};

}  // namespace limpid::nn
