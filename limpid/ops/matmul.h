// Matrix products: matmul, and linear (x weight^T + bias).
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op matmul, linear;
}  // namespace op

// (..., m, k) by (..., k, n) gives (..., m, n); leading dimensions must be equal. With transpose_a,
// a is (..., k, m); with transpose_b, b is (..., n, k). Operands are both f32, both f64, f32 and
// bf16 (widened to f32), or both i8 (the result is i32 and wraps around). Throws kShape, kDtype.
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false);

// x weight^T + bias: x (..., in), weight (out, in), optional bias (out), result (..., out). With
// f32 x, the weight may be bf16. Throws kShape, kDtype.
Value linear(Value x, Value weight, Value bias = {});

}  // namespace limpid
