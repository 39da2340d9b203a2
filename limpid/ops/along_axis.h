// Single elements chosen or written by number along one axis, as NumPy's take_along_axis and
// put_along_axis do, and by several numbers at once: functions of gather and the scatters.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/function/value.h"
#include "limpid/ops/scatter.h"

namespace limpid {

// Element (i, j, k) is x(i, indices(i, j, k), k) for axis 1 of three, and alike for others.
// `indices`, i32 or i64, has the rank of x and may be smaller than x in the other dimensions. A
// number outside of the axis gives 0. Throws kShape.
Value take_along_axis(Value x, Value indices, std::int64_t axis);

// x with updates(i, j, k) brought to its element (i, indices(i, j, k), k), and alike for other
// axes. A number outside of the axis is passed over.
Value scatter_along_axis(Value x, Value indices, Value updates, std::int64_t axis,
                         ScatterMode mode = ScatterMode::kReplace);

// The place in row-major order of each element of a tensor of the shape: its numbers stand in the
// last dimension of `indices` (..., rank). -1 where one of them is outside. i64 where i32 does not
// reach.
Value flat_index(Value indices, const Shape& shape);

// The elements along an axis in the other order.
Value flip(Value x, std::int64_t axis);

// Elements before and after those of x that repeat them, by dimension: mirrored without the last
// one (NumPy's "reflect"), the last one again and again, or from the other end. Throws kShape where
// there is nothing to repeat.
enum class PadMode : std::uint8_t { kReflect, kEdge, kWrap };
Value pad(Value x, const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high,
          PadMode mode);

// The permutation that exchanges a dimension and the last one; its own inverse.
std::vector<std::int64_t> exchanged_with_last(std::size_t rank, std::size_t axis);

}  // namespace limpid
