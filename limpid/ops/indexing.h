// Parts of tensors: slice, pad, concatenate, and rows by index: take; gather and its adjoint,
// scatter_add.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op slice, pad, concatenate, gather, take, scatter_add;
}  // namespace op

// In every dimension d, the elements starts[d], starts[d] + strides[d], ... below limits[d]. Throws
// kShape unless 0 <= start <= limit <= size and stride >= 1.
Value slice(Value x, std::vector<std::int64_t> starts, std::vector<std::int64_t> limits,
            std::vector<std::int64_t> strides);
// The same for numbers in braces, which would be axis, start and limit of a vector.
Value slice(Value x, std::initializer_list<std::int64_t> starts,
            std::initializer_list<std::int64_t> limits,
            std::initializer_list<std::int64_t> strides);
// Elements [start, limit) along one axis; axis -1 is the last.
Value slice(Value x, std::int64_t axis, std::int64_t start, std::int64_t limit);
// Splits one axis into equal parts. Throws kShape if `parts` does not divide the dimension.
std::vector<Value> split(Value x, std::int64_t parts, std::int64_t axis);

// The slices of size 1 along one axis, with that axis removed.
std::vector<Value> unstack(Value x, std::int64_t axis);

// Pads each dimension d of x with `value`: low[d] elements before, high[d] after, and interior[d]
// between neighbours. Throws kShape for a negative count.
Value pad(Value x, std::vector<std::int64_t> low, std::vector<std::int64_t> high,
          std::vector<std::int64_t> interior, double value = 0);

// Concatenates along an axis; all other dimensions must be equal. Throws kShape, kDtype, and
// kInvalidArgument for no parts.
Value concatenate(const std::vector<Value>& parts, std::int64_t axis);

// Rows of x (N, ...) by index: `indices` (I...), i32 or i64, gives (I..., ...). An index outside of
// [0, N) gives a row of zeros, as multiplication by a one-hot matrix would. With `batch` > 0, x and
// indices share that many leading batch dimensions. Throws kShape, kDtype.
Value gather(Value x, Value indices, std::int64_t batch = 0);
// The same along any axis: the dimensions of `indices` replace dimension `axis` of x.
Value gather_along(Value x, Value indices, std::int64_t axis);

// As gather, but for indices that are data: negative ones count from the end, and one outside of
// [-N, N) gives a row of NaN, or of 0 where x is no floating-point number. As JAX's take.
Value take_rows(Value x, Value indices, std::int64_t batch = 0);
// The same along any axis.
Value take(Value x, Value indices, std::int64_t axis);
// Rows of a table (V, d) for ids (...): (..., d), as PyTorch's F.embedding.
inline Value embedding(Value ids, Value table) { return take_rows(table, ids); }

// The adjoint of gather: starts from `size` rows of zeros and adds row i of `updates` to row
// indices[i], in the order of i. Indices outside of [0, size) are ignored. Throws kShape, kDtype.
Value scatter_add(Value indices, Value updates, std::int64_t size, std::int64_t batch = 0);

}  // namespace limpid
