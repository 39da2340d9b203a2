// Products of 8-bit weights, which ONNX has no operator for: what the exporter writes them as
// becomes quantized_linear again. Depends on function and ops.
#pragma once

#include "limpid/formats/onnx/node.h"
#include "limpid/function/function.h"

namespace limpid::onnx::detail {

// The function with a quantized_linear in place of each MatMulInteger whose left operand holds the
// rows of f32 values as codes of 8 bits, and whose result is scaled by row and by column. The sums
// of codes are the same; the two scales are multiplied first, which may change the last bit.
Function with_quantized_linear(const Function& function);

}  // namespace limpid::onnx::detail
