// Scaled dot-product attention.
#pragma once

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
// Without heads: (L, D), (S, D), (S, E). A query that sees no key gives NaN. Throws kShape, kDtype.
Value scaled_dot_product_attention(Value q, Value k, Value v, const AttentionOptions& options = {});

}  // namespace limpid
