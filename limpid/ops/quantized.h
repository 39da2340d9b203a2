// A linear layer with an i8 weight. Its input is quantised to i8 at run time, row by row.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op quantized_linear;
}  // namespace op

// x (scale * weight)^T + bias: x f32 (..., in), weight i8 (out, in), scale f32 (out), optional bias
// f32 (out), result f32 (..., out). Each row of x is first quantised by quantize_rows().
// Quantisation is symmetric: there is no zero point (Jacob et al. 2018, section 2.1; per row and
// per channel as LLM.int8(), Dettmers et al. 2022, section 3.1). `in` is 1 to 131,071. Throws
// kShape, kDtype.
Value quantized_linear(Value x, Value weight, Value scale, Value bias = {});

// Quantises each row of f32 x (..., k), k > 0, to codes i8 (..., k) and a scale f32 (..., 1), the
// row's largest magnitude / 127. |x - scale * codes| <= scale / 2 if the largest magnitude is 0 or
// at least 2^-120. If a row has a NaN or an infinity, so is its scale.
struct QuantizedRows {
  Value codes;
  Value scale;
};
QuantizedRows quantize_rows(Value x);

}  // namespace limpid
