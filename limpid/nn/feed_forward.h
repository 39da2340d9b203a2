// The feed-forward networks of a transformer block: plain and gated.
#pragma once

#include <optional>

#include "limpid/nn/linear.h"
#include "limpid/ops/activation.h"

namespace limpid::nn {

// linear2(dropout(activation(linear1(x)))), with the parameter names of PyTorch's
// TransformerEncoderLayer. x (..., features) to the same shape.
struct FeedForward {
  std::int64_t features = 0;
  std::int64_t hidden = 0;  // hidden size, usually 4 * features
  Value (*activation)(Value) = relu;
  double dropout = 0;
  Init weight_init = xavier_uniform();

  // "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias".
  Params init(Key key) const;
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;
};

// down_proj(gate(gate_proj(x), up_proj(x))), with the parameter names of Llama (Shazeer 2020). With
// a hidden size of 8/3 * features it has as many parameters as a FeedForward with 4 * features.
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
