// Rotary position embedding (RoPE).
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op rotary_embedding;
}  // namespace op

// Rotates pairs of the first R elements of every row of x (..., D) by angles given as cos and sin
// (..., R / 2), which broadcast to the other dimensions of x (Su et al. 2021, section 3.2.2): (a,
// b) -> (a cos - b sin, a sin + b cos). The last D - R elements are unchanged. Element i is paired
// with element i + R / 2; if interleaved, elements 2 i and 2 i + 1 are a pair. Throws kShape,
// kDtype.
Value rotary_embedding(Value x, Value cos, Value sin, bool interleaved = false);

}  // namespace limpid
