// Convolutions over 1 to 3 spatial dimensions, and their gradients. Cross-correlations, as in
// PyTorch and JAX: the kernel is not reversed.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/core/convolve.h"
#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op conv, conv_transpose, conv_weight_gradient, patches, col2im;
}  // namespace op

// How a kernel moves over the input. Lists have a number for each spatial dimension; empty: all 1,
// or no padding. `low` and `high` are the zeros before and after the input; negative: elements that
// are left out. The groups divide the channels; each is convolved by itself.
struct Convolution {
  std::vector<std::int64_t> stride = {};
  std::vector<std::int64_t> low = {};
  std::vector<std::int64_t> high = {};
  std::vector<std::int64_t> dilation = {};
  std::int64_t groups = 1;
};

// x (N, C, spatial...), weight (O, C / groups, kernel...), optional bias (O): (N, O, positions...)
// with (size + low + high - (kernel - 1) * dilation - 1) / stride + 1 positions, rounded down.
// Operands are all f32 or all f64. Throws kShape, kDtype.
Value conv(Value x, Value weight, Value bias = {}, const Convolution& how = {});

// The adjoint of conv in x, as PyTorch's conv_transpose: x (N, C, spatial...), weight (C, O /
// groups, kernel...), optional bias (O): (N, O, (size - 1) * stride + (kernel - 1) * dilation + 1 -
// low - high, ...). PyTorch's output_padding is subtracted from `high`. Throws kShape, kDtype.
Value conv_transpose(Value x, Value weight, Value bias = {}, const Convolution& how = {});

// The gradient of conv in its weight: x (N, C, spatial...) and g (N, O, positions...), the
// cotangent of the result, give (O, C / groups, kernel...). Throws kShape, kDtype.
Value conv_weight_gradient(Value x, Value g, std::vector<std::int64_t> kernel,
                           const Convolution& how = {});

// What the kernel of a convolution covers at each position: x (N, C, spatial...) of any dtype gives
// (N, C * taps, positions), as PyTorch's unfold. Padding is 0. Requires 1 group. Throws kShape.
Value patches(Value x, std::vector<std::int64_t> kernel, const Convolution& how = {});

// The adjoint of patches, as PyTorch's fold: (N, C * taps, positions) gives (N, C, size...), the
// sums of the elements that cover each other, from +0, in the order of the taps. Throws kShape,
// kDtype.
Value col2im(Value columns, std::vector<std::int64_t> size, std::vector<std::int64_t> kernel,
             const Convolution& how = {});

// The sizes of a call of these ops, checked. The x of conv_transpose is y.
arithmetic::ConvolutionSizes convolution_sizes(const Call& call);

}  // namespace limpid
