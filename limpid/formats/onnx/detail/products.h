// Products as NumPy's matmul has them, of floating numbers and of integers.
#pragma once

#include "limpid/function/value.h"

namespace limpid::onnx::detail {

// (..., m, k) by (..., k, n) with the same leading dimensions.
Value batched_product(Value a, Value b);

// Operands of any rank from 1 on: one of rank 1 is a row or a column, whose dimension disappears
// again, and leading dimensions are stretched. Throws kShape.
Value product(Value a, Value b);

}  // namespace limpid::onnx::detail
