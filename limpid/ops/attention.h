// Scaled dot-product attention.
#pragma once

#include "limpid/core/attend.h"
#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op scaled_dot_product_attention;
}  // namespace op

// What scaled_dot_product_attention does besides.
struct AttentionOptions {
  // Query i sees the keys up to i + (S - L): the last query sees them all, so that a query attends
  // alike whether it came with those before it or after them, by a cache of keys. (PyTorch's
  // is_causal aligns at the first key instead, which is the same where L is S.)
  bool causal = false;
  // Times the products of queries and keys; 0 stands for 1 / sqrt(D).
  double scale = 0;
  // Broadcasts to (..., H, L, S): bool, true where a query sees a key, or floating, added to the
  // scores. May be missing.
  Value mask = {};
};

// softmax(q k^T * scale + mask) v, of q (..., H, L, D), k (..., G, S, D) and v (..., G, S, E),
// where G divides H and query head h belongs to head h / (H / G) of k and v; (..., H, L, E).
// Without heads: (L, D), (S, D), (S, E). A key that a query does not see takes no part, whatever
// its numbers; a query that sees none gives zeros. Throws kShape, kDtype.
Value scaled_dot_product_attention(Value q, Value k, Value v, const AttentionOptions& options = {});

// A call of the op by matmul, select and softmax, with numbers of the same accuracy: for formats
// that have no attention, and for derivatives.
Value attention_by_parts(std::span<const Value> inputs, const Attributes& attributes);

// What reference arithmetic and kernels work with.
arithmetic::AttentionSizes attention_sizes(const Call& call);

}  // namespace limpid
