// The weights inside of an attention, for those who look at it.
#pragma once

#include <span>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

// Of a call of scaled_dot_product_attention, its inputs and attributes: what each query takes of
// each key, (..., H, L, S), 0 where it does not see it; the same without heads.
Value attention_weights(std::span<const Value> inputs, const Attributes& attributes);

}  // namespace limpid
