// Ops without inputs: constants and iota.
#pragma once

#include "limpid/function/builder.h"

namespace limpid {

namespace op {
extern const Op constant, iota;
}  // namespace op

// A tensor as a constant of the Function.
Value constant(Builder& builder, Tensor value);
// A scalar constant of an integer dtype, f32 or f64 (rounded to f32). Throws kInvalidArgument if an
// integer dtype cannot represent the number (0.5, say), kDtype for other dtypes.
Value constant(Builder& builder, double number, Dtype dtype);

// 0, 1, ..., size - 1 as i32[size].
Value iota(Builder& builder, std::int64_t size);

}  // namespace limpid
