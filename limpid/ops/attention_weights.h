// The attention weights inside an attention, for inspection.
#pragma once

#include <span>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

// The softmax weights of a call of scaled_dot_product_attention, given its inputs and attributes:
// (..., H, L, S), or (L, S) without heads. 0 for a key that the query does not see.
Value attention_weights(std::span<const Value> inputs, const Attributes& attributes);

}  // namespace limpid
