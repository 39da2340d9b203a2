// Writing rows of a tensor by index, the counterpart of gather. scatter_add, the adjoint of gather,
// is in indexing.h.
#pragma once

#include <cstdint>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op scatter, scatter_multiply, scatter_maximum, scatter_minimum;
}  // namespace op

// How an update is combined with its row.
enum class ScatterMode : std::uint8_t { kReplace, kAdd, kMultiply, kMaximum, kMinimum };

// x (N, ...) with row i of `updates` written into row indices[i], for every i of indices (I...), in
// order; updates is (I..., ...). kReplace keeps the last update of a row and takes any dtype; the
// other modes combine the row with each of its updates. Indices outside of [0, N) are ignored. With
// `batch` > 0, all three share that many leading batch dimensions. Throws kShape, kDtype.
Value scatter(Value x, Value indices, Value updates, ScatterMode mode = ScatterMode::kReplace,
              std::int64_t batch = 0);

}  // namespace limpid
