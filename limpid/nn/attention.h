// MultiHeadAttention: self-attention within a sequence, or cross-attention to another one.
#pragma once

#include "limpid/nn/linear.h"
#include "limpid/ops/attention.h"

namespace limpid::nn {

// Multi-head attention (Vaswani et al. 2017, section 3.2.2), with the parameter names of PyTorch's
// MultiheadAttention. kv_heads < heads is grouped-query attention (Ainslie et al. 2023). The rows
// of in_proj_weight are those of q, then k, then v.
struct MultiHeadAttention {
  std::int64_t features = 0;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  bool causal = false;
  bool bias = true;
  Init in_init = xavier_uniform();
  Init out_init = xavier_uniform();

  // "in_proj_weight" ((heads + 2 kv_heads) * features / heads, features), "in_proj_bias",
  // "out_proj.weight" (features, features), "out_proj.bias"; biases are zero. Throws
  // kInvalidArgument unless heads divides features and kv_heads divides heads.
  Params init(Key key) const;

  // Self-attention: x (..., length, features) to the same shape. Throws kShape.
  Value operator()(const Args& params, Value x) const;

  // Cross-attention: queries from x (..., length, features), keys and values from memory (...,
  // memory length, features). The options give mask, causality and scale. Throws kShape.
  Value attend(const Args& params, Value x, Value memory, const AttentionOptions& options) const;
};

}  // namespace limpid::nn
