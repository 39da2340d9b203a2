// Gradient clipping, as ops between the gradient and the optimiser.
#pragma once

#include <optional>

#include "limpid/function/value.h"

namespace limpid::optim {

// The L2 norm of all elements of all gradients, a scalar. Throws kInvalidArgument if there are
// none.
Value global_norm(const Args& gradients);

// Clamps each element to [-limit, limit]; NaN stays NaN. Throws kInvalidArgument unless limit > 0.
Args clip_by_value(const Args& gradients, double limit);

// Multiplies all gradients by min(1, limit / (global_norm + 1e-6)), as PyTorch's clip_grad_norm_
// (Pascanu, Mikolov, Bengio 2013, algorithm 1). Throws kInvalidArgument unless limit > 0.
Args clip_by_global_norm(const Args& gradients, double limit);
// The factor of clip_by_global_norm for a given norm.
Value global_norm_scale(Value norm, double limit);
// Throws kShape unless `scale` is a scalar.
Args scaled(const Args& gradients, Value scale);

// The clipping of a training step: first by value, then by norm; nullopt: no clipping.
struct Clip {
  std::optional<double> value = {};
  std::optional<double> norm = {};
};

}  // namespace limpid::optim
