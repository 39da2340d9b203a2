// Normalisation: layer, RMS, group and batch norm. eps stands inside the root; variances divide by
// the number of elements.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op layer_norm, rms_norm, group_norm, batch_norm, batch_norm_inference;
// What the gradients of the first two are made of.
extern const Op layer_norm_gradient, rms_norm_gradient;
}  // namespace op

// Over the last dimensions of x, which are those of gamma (and beta), or the last one alone where
// gamma is no Value: (x - mean) / sqrt(variance + eps) * gamma + beta. beta may be missing. Throws
// kShape.
Value layer_norm(Value x, Value gamma = {}, Value beta = {}, double eps = 1e-5);

// As layer_norm, without taking the mean away: x / sqrt(mean of x^2 + eps) * gamma.
Value rms_norm(Value x, Value gamma = {}, double eps = 1e-5);

// x (N, C, ...): each of `groups` equal groups of channels of each example on its own, then times
// gamma (C), plus beta (C). groups = C is instance norm. Throws kShape.
Value group_norm(Value x, std::int64_t groups, Value gamma, Value beta, double eps = 1e-5);

// x (N, C, ...), in training: each channel by its own mean and variance over all other dimensions.
// The running statistics go in and come out as values: (1 - momentum) of the old ones and momentum
// of the batch's, whose variance there divides by one less than its elements. Throws kShape, also
// where a channel has fewer than two elements.
struct BatchNormResult {
  Value y, running_mean, running_var;
};
BatchNormResult batch_norm(Value x, Value gamma, Value beta, Value running_mean, Value running_var,
                           double momentum = 0.1, double eps = 1e-5);
// At inference: by the running statistics.
Value batch_norm_inference(Value x, Value gamma, Value beta, Value running_mean, Value running_var,
                           double eps = 1e-5);

}  // namespace limpid
