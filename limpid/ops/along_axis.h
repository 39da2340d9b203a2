// Reading and writing single elements by index along one axis, as NumPy's take_along_axis and
// put_along_axis, or by multi-index. Built from gather and the scatters.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/function/value.h"
#include "limpid/ops/scatter.h"

namespace limpid {

// For axis 1 of three, element (i, j, k) is x(i, indices(i, j, k), k); likewise for other axes. The
// result has the shape of `indices`. `indices`, i32 or i64, has the rank of x and may be smaller
// than x in the other dimensions. Negative indices count from the end; one out of range gives NaN,
// or 0 where x is no floating-point number. Throws kShape, kDtype.
Value take_along_axis(Value x, Value indices, std::int64_t axis);

// For axis 1 of three, x with updates(i, j, k) written to element (i, indices(i, j, k), k);
// likewise for other axes. `mode` says how an update is combined with the element. Updates with an
// index out of range are ignored. Throws kShape, kDtype.
Value scatter_along_axis(Value x, Value indices, Value updates, std::int64_t axis,
                         ScatterMode mode = ScatterMode::kReplace);

// The row-major positions in a tensor of `shape` for the multi-indices in the last dimension of
// `indices` (..., rank): shape (...). -1 for a multi-index out of range. i64 if the positions
// exceed i32. Throws kShape.
Value flat_index(Value indices, const Shape& shape);

// The elements along an axis in reverse order.
Value flip(Value x, std::int64_t axis);

// Pads each dimension with low[d] elements before and high[d] after, taken from x: mirrored without
// repeating the edge element, the edge element itself, or from the opposite end (NumPy's "reflect",
// "edge" and "wrap"). Throws kShape for a negative count, and for a dimension without elements.
enum class PadMode : std::uint8_t { kReflect, kEdge, kWrap };
Value pad(Value x, const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high,
          PadMode mode);

// The permutation that swaps a dimension with the last one. It is its own inverse.
std::vector<std::int64_t> exchanged_with_last(std::size_t rank, std::size_t axis);

}  // namespace limpid
