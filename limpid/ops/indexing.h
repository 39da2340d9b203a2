// Parts of tensors: slice and pad, concatenate, and rows chosen by number: gather and its adjoint,
// scatter_add.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op slice, pad, concatenate, gather, scatter_add;
}  // namespace op

// Of every dimension d the elements starts[d], starts[d] + strides[d], ... below limits[d]. Throws
// kShape where 0 <= start <= limit <= size or stride >= 1 does not hold.
Value slice(Value x, std::vector<std::int64_t> starts, std::vector<std::int64_t> limits,
            std::vector<std::int64_t> strides);
// Elements [start, limit) along one axis; -1 is the last.
Value slice(Value x, std::int64_t axis, std::int64_t start, std::int64_t limit);
// Equal parts along one axis. Throws kShape where they are not whole.
std::vector<Value> split(Value x, std::int64_t parts, std::int64_t axis);

// The parts of size 1 along one axis, without that axis.
std::vector<Value> unstack(Value x, std::int64_t axis);

// x with `low` elements of `value` before, `high` after and `interior` between its own, by
// dimension. Throws kShape for a negative one.
Value pad(Value x, std::vector<std::int64_t> low, std::vector<std::int64_t> high,
          std::vector<std::int64_t> interior, double value = 0);

// One after the other along an axis; all other dimensions must agree. Throws kShape.
Value concatenate(const std::vector<Value>& parts, std::int64_t axis);

// Rows of x (N, ...) by number: `indices` [I...] of i32 or i64 gives [I..., ...]. A number outside
// of [0, N) gives a row of zeros, as if each number were one-hot. With `batch` leading dimensions
// in common, each of them has rows and numbers of its own.
Value gather(Value x, Value indices, std::int64_t batch = 0);
// Elements along any axis by number: dimension `axis` of x becomes the dimensions of `indices`.
Value take(Value x, Value indices, std::int64_t axis);
// Rows of a table (V, d) by their numbers: PyTorch's Embedding.
inline Value embedding(Value table, Value ids) { return gather(table, ids); }

// The adjoint of gather: a tensor of `size` rows of zeros, to which row i of `updates` is added at
// indices[i], in the order of i. Numbers outside of [0, size) are passed over.
Value scatter_add(Value indices, Value updates, std::int64_t size, std::int64_t batch = 0);

}  // namespace limpid
