// Ops that move elements and compute nothing: reshape, broadcast, transpose.
#pragma once

#include <string_view>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op reshape, broadcast, transpose;
}  // namespace op

// The same elements, row-major, with another shape. Throws kShape if the element counts differ.
Value reshape(Value x, const Shape& shape);

// Repeats x to a shape, as NumPy's broadcast_to: dimensions are aligned at the last one; each
// dimension of x is 1, equal or missing. Throws kShape.
Value broadcast(Value x, const Shape& shape);

// Dimension i of the result is dimension permutation[i] of x. Throws kShape.
Value transpose(Value x, std::vector<std::int64_t> permutation);

// The shape that both shapes broadcast to. Throws kShape, with `what` at the start of the message.
Shape common_shape(const Shape& a, const Shape& b, std::string_view what);

}  // namespace limpid
