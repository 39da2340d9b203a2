// Elements of a tensor by NumPy's indices: numbers, ranges, new axes and arrays of numbers, read
// with at() and written with set_at() (NumPy: x[i, 2:5]; JAX: x.at[i, 2:5].set(y)). Made of gather
// and the scatters.
//
//   at(x, {rows, Range{0, 3, 2}})              x[rows, 0:5:2]
//   set_at(x, {3}, y, ScatterMode::kAdd)       x with y added to x[3]
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "limpid/function/value.h"
#include "limpid/ops/scatter.h"

namespace limpid {

// The elements start, start + step, ... of a dimension, `count` of them; all within it.
struct Range {
  std::int64_t start = 0, count = 0, step = 1;
};
// A dimension of size 1 that x does not have.
struct NewAxis {};
// All elements of a dimension.
struct Whole {};

// One part of an index. A number, or an i32 or i64 array of numbers: negative ones count from the
// end.
using IndexPart = std::variant<std::int64_t, Range, Whole, NewAxis, Value>;
using Index = std::vector<IndexPart>;

// x[index], with NumPy's rules: dimensions without a part are whole; arrays, and numbers beside
// arrays, are broadcast to one shape, which takes their place, or the front if they are not side by
// side. An element whose number is out of range is NaN, or 0 where x is no floating-point number.
// Throws kShape for too many parts, for a number or range out of range, and if the arrays do not
// broadcast; kDtype for arrays of another dtype.
Value at(Value x, const Index& index);

// x with x[index] combined with the updates, which broadcast to its shape, in row-major order.
// Updates of elements out of range are left out. Throws as at() and scatter().
Value set_at(Value x, const Index& index, Value updates, ScatterMode mode = ScatterMode::kReplace);

}  // namespace limpid
