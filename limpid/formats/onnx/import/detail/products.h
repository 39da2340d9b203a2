// Matrix products with the semantics of NumPy's matmul, for floating-point numbers and integers.
#pragma once

#include "limpid/function/value.h"

namespace limpid::onnx::detail {

// Operands of rank 1 or more: one of rank 1 is a row (left) or column (right), whose dimension is
// removed from the result; leading dimensions broadcast. Throws kShape.
Value product(Value a, Value b);

}  // namespace limpid::onnx::detail
