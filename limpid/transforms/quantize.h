// quantize: weights in fewer bytes. The bits change; it is asked for by name.
#pragma once

#include <string>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

// Which weights change, and to what.
struct QuantizeOptions {
  Dtype to = Dtype::kI8;                  // or kBf16
  std::vector<std::string> exclude = {};  // parameters that stay as they are
};

// What quantize gives.
struct Quantized {
  Function function;
  Params params;
  std::vector<std::string> done;  // what was done, a line each
};

// For inference. The parameters that change are matrices of f32 that linear reads, as its weight,
// or matmul of two matrices, as its second operand, and that nothing else reads but gather, as the
// table whose rows it takes: an embedding that gives the logits too. The others stay.
// * kBf16: the parameter is rounded to bf16. The result is that of f32 arithmetic with the rounded
//   weights, bit for bit.
// * kI8: parameter `w` becomes i8 (out, in), whichever way it was used, and "w_scale" in f32 (out)
//   is a new input behind it, so that w is about scale * codes, rounded as quantize_rows rounds;
//   linear and matmul become quantized_linear. Rows that gather takes are scale * codes.
// With W' the weight that the numbers stand for, |W' - W| <= s / 2 in each row of W with s its
// scale in i8 (2^-8 |W| in bf16, where nothing is subnormal or too large), and, with t the scale of
// a row of x, i8 gives W' x' for an x' with |x' - x| <= t / 2. So that what comes out differs from
// W x by at most
//   (s |x|_1 + t |W'|_1) / 2
// in exact arithmetic, where |.|_1 is the sum of magnitudes of a row; roundings of f32 come on top.
//
// Throws kInvalidArgument for another dtype, for i8 of a row with a NaN or an infinity, and for
// i8 of `w` where "w_scale" is an input already; kNotFound for an excluded name that is no
// parameter.
Quantized quantize(const Function& f, const Params& params, const QuantizeOptions& options = {});

// A Function of parameters in f32, for parameters that quantize() has left narrower: another
// Function of the same model, that of another length for one. Throws kNotFound where an i8 matrix
// has no scale, kShape where one has another size, kInvalidArgument for a narrow parameter that
// quantize() would have left alone.
Function with_narrow_params(const Function& f, const Params& params);

}  // namespace limpid
