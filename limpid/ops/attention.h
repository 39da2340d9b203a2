// Scaled dot-product attention.
#pragma once

#include "limpid/core/attend.h"
#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op scaled_dot_product_attention;
}  // namespace op

// Options of scaled_dot_product_attention.
struct AttentionOptions {
  // Query i sees the keys up to i + (S - L), so the last query sees all keys. With a KV cache a
  // query thus attends to the same keys as in one pass. (PyTorch's is_causal aligns at the first
  // key instead, which is the same if L is S.)
  bool causal = false;
  // Factor of the products of queries and keys; 0 means 1 / sqrt(D).
  double scale = 0;
  // Optional. Must broadcast to (..., H, L, S). bool: true where a query sees a key. Floating
  // point: added to the scores.
  Value mask = {};
};

// softmax(q k^T * scale + mask) v (Vaswani et al. 2017, section 3.2.1), for q (..., H, L, D), k
// (..., G, S, D) and v (..., G, S, E): shape (..., H, L, E). G divides H; query head h uses
// key/value head h / (H / G) (grouped-query attention, Ainslie et al. 2023). Without heads: (L, D),
// (S, D), (S, E). A key that a query does not see has no influence, whatever its elements; in the
// gradient, which is made of products, its elements must be finite. A query that sees no key gives
// zeros. Throws kShape, kDtype.
Value scaled_dot_product_attention(Value q, Value k, Value v, const AttentionOptions& options = {});

// The same attention by matmul, select and softmax, with the same accuracy but other bits. For file
// formats without attention, and for derivatives.
Value attention_by_parts(std::span<const Value> inputs, const Attributes& attributes);

// The sizes of a call, for the reference arithmetic and the kernels.
arithmetic::AttentionSizes attention_sizes(const Call& call);

}  // namespace limpid
