// Clipping of gradients, as ops between the gradient and the optimiser.
#pragma once

#include <optional>

#include "limpid/function/value.h"

namespace limpid::optim {

// The L2 norm of all gradients together, a scalar.
Value global_norm(const Args& gradients);

// Each element brought into [-limit, limit]; NaN stays NaN. Throws kInvalidArgument unless limit
// is positive.
Args clip_by_value(const Args& gradients, double limit);

// All gradients times min(1, limit / (norm + 1e-6)), norm being global_norm's, as PyTorch's
// clip_grad_norm_ (Pascanu, Mikolov, Bengio 2013, algorithm 1). Throws kInvalidArgument unless
// limit is positive.
Args clip_by_global_norm(const Args& gradients, double limit);
// What it multiplies them by, where the norm is at hand.
Value global_norm_scale(Value norm, double limit);
Args scaled(const Args& gradients, Value scale);

// What a training step clips: by value first, then by norm.
struct Clip {
  std::optional<double> value = {};
  std::optional<double> norm = {};
};

}  // namespace limpid::optim
