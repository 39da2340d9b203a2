// Rotary position embedding.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op rotary_embedding;
}  // namespace op

// Turns pairs of the first R numbers of every row of x (..., D) by angles whose cosines and sines
// come as (..., R / 2), stretched to x's other dimensions; the D - R numbers behind stay. Number i
// is paired with number i + R / 2, or with its neighbour where the pairs are interleaved:
// (a, b) -> (a cos - b sin, a sin + b cos). Throws kShape, kDtype.
Value rotary_embedding(Value x, Value cos, Value sin, bool interleaved = false);

}  // namespace limpid
