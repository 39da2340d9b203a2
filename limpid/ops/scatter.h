// Rows written into a tensor by number: what gather reads. scatter_add, gather's adjoint, stands in
// indexing.h.
#pragma once

#include <cstdint>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op scatter, scatter_multiply, scatter_maximum, scatter_minimum;
}  // namespace op

// What becomes of a row that an update comes to.
enum class ScatterMode : std::uint8_t { kReplace, kAdd, kMultiply, kMaximum, kMinimum };

// x (N, ...) with row i of `updates` brought into its row indices[i], for every i of indices
// [I...], in their order; updates are [I..., ...]. kReplace: the last update of a row stays; the
// others combine it with each of its updates. Numbers outside of [0, N) are passed over. With
// `batch` leading dimensions in common, each of them has rows and numbers of its own. kReplace
// takes any dtype. Throws kShape, kDtype.
Value scatter(Value x, Value indices, Value updates, ScatterMode mode = ScatterMode::kReplace,
              std::int64_t batch = 0);

}  // namespace limpid
