// MultiHeadAttention: attention between heads of one sequence, or from one to another.
#pragma once

#include "limpid/nn/linear.h"
#include "limpid/ops/attention.h"

namespace limpid::nn {

// Vaswani et al. 2017, section 3.2.2, named as PyTorch's MultiheadAttention. With fewer heads of
// keys and values than of queries (grouped-query attention, Ainslie et al. 2023) in_proj_weight has
// the rows of q, of k and of v one after the other, as with equal numbers.
struct MultiHeadAttention {
  std::int64_t features = 0;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  bool causal = false;
  bool bias = true;
  Init in_init = xavier_uniform();
  Init out_init = xavier_uniform();

  // "in_proj_weight" ((heads + 2 kv_heads) * features / heads, features), "in_proj_bias",
  // "out_proj.weight" (features, features), "out_proj.bias"; biases zero. Throws kInvalidArgument
  // where heads do not divide the features, or kv_heads the heads.
  Params init(Key key) const;

  // Self-attention: x (..., length, features) to the same.
  Value operator()(const Args& params, Value x) const;

  // Queries from x, keys and values from memory (..., other length, features), with what the
  // options mask.
  Value attend(const Args& params, Value x, Value memory, const AttentionOptions& options) const;
};

}  // namespace limpid::nn
