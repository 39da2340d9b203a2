// A linear layer whose weight is 8-bit integers, and whose input becomes such integers row by row.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op quantized_linear;
}  // namespace op

// x (..., in) in f32, weight (out, in) in i8, scale (out) and bias (out) or none in f32:
// x (scale * weight)^T + bias, (..., out), where each row of x is rounded to multiples of a 127th
// of its largest magnitude. Weights are symmetric: no zero point. At most 131,071 features.
Value quantized_linear(Value x, Value weight, Value scale, Value bias = {});

// Each row of x (..., k) in f32, k > 0, as i8 and its scale (..., 1): x is about scale * codes, to
// half a scale, where the largest magnitude of the row is 0 or 2^-120 and above. A row with a NaN
// or an infinity has a scale that is one.
struct QuantizedRows {
  Value codes;
  Value scale;
};
QuantizedRows quantize_rows(Value x);

}  // namespace limpid
