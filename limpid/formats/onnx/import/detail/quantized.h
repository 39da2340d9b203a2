// Restores quantized_linear, which has no ONNX operator, from the pattern that the exporter writes.
// Depends on function and ops.
#pragma once

#include "limpid/formats/onnx/import/detail/node.h"
#include "limpid/function/function.h"

namespace limpid::onnx::detail {

// Replaces each MatMulInteger whose left operand is rows of f32 quantised to 8 bits, and whose
// result is scaled by row and by column, by a quantized_linear. The integer sums are the same; the
// two scales are multiplied first, which may change the last bit.
Function with_quantized_linear(const Function& function);

}  // namespace limpid::onnx::detail
