// Adagrad: divides steps by the root of the sum of all squared gradients so far.
#pragma once

#include "limpid/core/params.h"
#include "limpid/optim/record.h"
#include "limpid/optim/update.h"

namespace limpid::optim {

// As PyTorch's Adagrad (Duchi, Hazan, Singer 2011): g = gradient + weight_decay * p; s' = s + g^2;
// p' = p - rate * g / (sqrt(s') + eps). For PyTorch's lr_decay, use a schedule.
struct Adagrad {
  double eps = 1e-10;
  double initial_sum = 0;
  double weight_decay = 0;
  bool decay_vectors = true;

  // The initial state: for every parameter "sum.<name>", filled with initial_sum.
  Params init(const Params& params) const;
  // One step. `gradients` has the names of the parameters. `rate`, and `gradient_scale` if given,
  // are scalars of their dtype; the gradients are first multiplied by gradient_scale.
  Update operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                    Value gradient_scale = {}) const;

  static const OptimizerRecord record;
};

}  // namespace limpid::optim
