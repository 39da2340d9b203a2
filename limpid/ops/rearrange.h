// Elements in other places: repeated, rotated, reversed, along diagonals, in grids. Made of slice,
// concatenate, reshape, broadcast and gather; an axis of -1 is the last one. All throw kShape for
// an axis out of range.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limpid/function/builder.h"
#include "limpid/function/value.h"

namespace limpid {

// Each element of an axis `repeats` times, one beside the other (NumPy's repeat). Throws kShape for
// a negative number.
Value repeat(Value x, std::int64_t repeats, std::int64_t axis);
// Element i of an axis repeats[i] times. Throws kShape unless there is a number for each element.
Value repeat(Value x, const std::vector<std::int64_t>& repeats, std::int64_t axis);

// x repeated as a whole, times[d] times along dimension d (NumPy's tile). The shorter of shape and
// `times` is filled up with ones from the left.
Value tile(Value x, std::vector<std::int64_t> times);

// The elements along an axis moved by `shift` places; those that leave at one end enter at the
// other (NumPy's roll).
Value roll(Value x, std::int64_t shift, std::int64_t axis);

// The parts of an axis before, between and from these places on, in order (NumPy's split with
// indices). Negative places count from the end; places beyond the axis give empty parts.
std::vector<Value> split_at(Value x, const std::vector<std::int64_t>& places, std::int64_t axis);
// Parts as equal as possible, the larger ones first (NumPy's array_split). Throws kShape unless
// parts > 0.
std::vector<Value> array_split(Value x, std::int64_t parts, std::int64_t axis);

// The n-th differences of neighbours, x(i + 1) - x(i): the axis has n elements less (NumPy's diff).
// Throws kShape for a negative n.
Value diff(Value x, std::int64_t n = 1, std::int64_t axis = -1);

// The elements on and below diagonal k of the last two dimensions, and 0 above; and the opposite.
// Diagonal 0 is the main one, positive ones are above it.
Value tril(Value x, std::int64_t k = 0);
Value triu(Value x, std::int64_t k = 0);

// Diagonal `offset` of the dimensions axis1 and axis2, as the last dimension of the result (NumPy's
// diagonal). Throws kShape if the axes are one.
Value diagonal(Value x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);

// 1 on diagonal k of rows x columns, 0 elsewhere. Throws kShape for a negative size.
Value eye(Builder& builder, std::int64_t rows, std::int64_t columns, std::int64_t k = 0,
          Dtype dtype = Dtype::kF32);

// `num` numbers from start to stop: start + i ((stop - start) / (num - 1)), computed in f64 and
// rounded once; the last one is stop. Without the end point the divisor is num. Throws kShape for a
// negative num, kDtype unless the dtype is f32 or f64.
Value linspace(Builder& builder, double start, double stop, std::int64_t num = 50,
               bool endpoint = true, Dtype dtype = Dtype::kF32);

// Each vector of a grid, repeated along the dimensions of the others: N vectors give N arrays of
// rank N (NumPy's meshgrid). With `xy`, the first two dimensions are exchanged. Throws kShape
// unless all are vectors or scalars.
std::vector<Value> meshgrid(const std::vector<Value>& vectors, bool xy = true);

// a[i] b[j] for all elements, row-major (NumPy's outer).
Value outer(Value a, Value b);
// The Kronecker product: blocks a[i, j] b (NumPy's kron), of any ranks up to 4.
Value kron(Value a, Value b);

// Cumulative products along an axis (NumPy's cumprod): of bf16 and f16 in f32, of integers and bool
// in i64. The products are those of neighbouring halves, as the sums of cumulative_sum.
Value cumulative_product(Value x, std::int64_t axis = -1);

}  // namespace limpid
