// Normalisation: layer, RMS, group and batch norm. eps is added inside the root; variances divide
// by the number of elements. All throw kShape, kDtype, and kInvalidArgument for a negative eps.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op layer_norm, rms_norm, group_norm, batch_norm, batch_norm_inference;
// Used by the gradients of layer_norm and rms_norm.
extern const Op layer_norm_gradient, rms_norm_gradient;
}  // namespace op

// (x - mean) / sqrt(variance + eps) * gamma + beta (Ba et al. 2016, equation 3), over the last
// dimensions of x, whose shape is that of gamma and beta; without gamma, over the last dimension.
// gamma and beta are optional. Throws kInvalidArgument for beta without gamma.
Value layer_norm(Value x, Value gamma = {}, Value beta = {}, double eps = 1e-5);

// As layer_norm, but the mean is not subtracted: x / sqrt(mean of x^2 + eps) * gamma (Zhang and
// Sennrich 2019, equation 4).
Value rms_norm(Value x, Value gamma = {}, double eps = 1e-5);

// x (N, C, ...): normalises each of `groups` equal groups of channels of each example, then
// multiplies by gamma (C) and adds beta (C) (Wu and He 2018). groups = C is instance norm.
Value group_norm(Value x, std::int64_t groups, Value gamma, Value beta, double eps = 1e-5);

// Batch norm in training (Ioffe and Szegedy 2015), x (N, C, ...): normalises each channel by its
// mean and variance over all other dimensions. The other operands have shape (C). The running
// statistics are inputs and results: new = (1 - momentum) old + momentum batch. As in PyTorch, the
// running variance uses the unbiased variance of the batch. Also throws kShape if a channel has
// fewer than two elements.
struct BatchNormResult {
  Value y, running_mean, running_var;
};
BatchNormResult batch_norm(Value x, Value gamma, Value beta, Value running_mean, Value running_var,
                           double momentum = 0.1, double eps = 1e-5);
// Batch norm at inference: normalises by the running statistics.
Value batch_norm_inference(Value x, Value gamma, Value beta, Value running_mean, Value running_var,
                           double eps = 1e-5);

// The unit in which numbers are added up by their squares, given their sum or mean in the unit 1:
// 1, unless that is infinite or 0. Then x times the unit, a power of two, has squares in range.
Value unit_for_squares(Value squares);

}  // namespace limpid
