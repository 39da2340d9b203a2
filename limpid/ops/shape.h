// Ops that move elements and compute nothing: reshape, broadcast, transpose.
#pragma once

#include <string_view>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op reshape, broadcast, transpose;
}  // namespace op

// The same elements, row-major, under another shape. Throws kShape where the counts differ.
Value reshape(Value x, const Shape& shape);

// Repeats x to a shape, as NumPy does: dimensions are matched from the last, and each is equal or 1
// in x or missing in it. Throws kShape.
Value broadcast(Value x, const Shape& shape);

// Dimension i of the result is dimension permutation[i] of x. Throws kShape.
Value transpose(Value x, std::vector<std::int64_t> permutation);

// The shape that both shapes broadcast to; `what` opens the error (kShape).
Shape common_shape(const Shape& a, const Shape& b, std::string_view what);

}  // namespace limpid
