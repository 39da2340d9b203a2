// Products: matmul, and linear, which is what a layer does with its weight and bias.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op matmul, linear;
}  // namespace op

// (..., m, k) by (..., k, n) gives (..., m, n); the leading dimensions are equal. A transposed
// operand has its last two dimensions the other way round: (..., k, m), (..., n, k). Both are f32
// or f64; or f32 and bf16, which is widened; or i8, whose sums of products are i32 and wrap around.
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false);

// x (..., in), weight (out, in), bias (out) or none: x weight^T + bias, (..., out). The weight of
// an f32 x may be bf16.
Value linear(Value x, Value weight, Value bias = {});

}  // namespace limpid
