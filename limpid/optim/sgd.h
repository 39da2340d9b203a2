// Sgd: stochastic gradient descent with momentum.
#pragma once

#include "limpid/core/params.h"
#include "limpid/optim/record.h"
#include "limpid/optim/update.h"

namespace limpid::optim {

// As PyTorch's SGD: g = gradient + weight_decay * p; v' = momentum * v + g; p' = p - rate * v', or
// with Nesterov momentum p' = p - rate * (g + momentum * v') (Sutskever et al. 2013).
struct Sgd {
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool decay_vectors = true;

  // The initial state: for every parameter "momentum.<name>", zeros; empty without momentum.
  Params init(const Params& params) const;
  // One step. `gradients` has the names of the parameters. `rate`, and `gradient_scale` if given,
  // are scalars of their dtype; the gradients are first multiplied by gradient_scale.
  Update operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                    Value gradient_scale = {}) const;

  static const OptimizerRecord record;
};

}  // namespace limpid::optim
