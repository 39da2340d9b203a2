// quantize: stores weights as bf16 or i8. It changes the bits, so it is never applied implicitly.
#pragma once

#include <string>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

// Options of quantize().
struct QuantizeOptions {
  Dtype to = Dtype::kI8;                  // or kBf16
  std::vector<std::string> exclude = {};  // names of the parameters that stay unchanged
};

// The result of quantize().
struct Quantized {
  Function function;
  Params params;
  std::vector<std::string> done;  // what was done, one line each
};

// For inference. Quantises each f32 matrix that is only used as the weight of linear or the second
// operand of a matmul of two matrices; a use as the table of gather or take is allowed, too (tied
// embeddings). All other parameters stay.
// * kBf16: the parameter is rounded to bf16. The results have the bits of f32 arithmetic with the
//   rounded weights.
// * kI8: parameter `w` becomes i8 codes (out, in), transposed if necessary, and "w_scale", f32
//   (out), a new input after it: w is about scale * codes, rounded as by quantize_rows(). linear
//   and matmul become quantized_linear; gather and take give scale * codes.
// Error bound: let W' be the quantised weight. For i8, |W' - W| <= s / 2 in each row with scale s;
// for bf16, |W' - W| <= 2^-8 |W| unless an element is subnormal or overflows. With i8, x is
// quantised, too: the result is W' x' with |x' - x| <= t / 2, where t is the scale of the row of x.
// So it differs from W x by at most
//   (s |x|_1 + t |W'|_1) / 2
// in exact arithmetic, where |.|_1 is the sum of the magnitudes of a row. f32 rounding errors are
// added to that.
//
// Throws kInvalidArgument for another dtype, and with i8 for a row with a NaN or an infinity, or if
// "w_scale" already is an input; kNotFound for an excluded name that is not a parameter.
Quantized quantize(const Function& f, const Params& params, const QuantizeOptions& options = {});

// Adapts another f32 Function of the same model (of another length, say) to parameters that
// quantize() returned. Throws kNotFound if an i8 matrix has no scale, kShape if a size differs,
// kInvalidArgument for a bf16 or i8 parameter that quantize() would not have changed.
Function with_narrow_params(const Function& f, const Params& params);

}  // namespace limpid
