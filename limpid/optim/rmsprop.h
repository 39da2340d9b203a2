// RMSProp: divides steps by a running root mean square of the gradient.
#pragma once

#include "limpid/core/params.h"
#include "limpid/optim/record.h"
#include "limpid/optim/update.h"

namespace limpid::optim {

// As PyTorch's RMSprop (Tieleman and Hinton 2012; centered: Graves 2013, arXiv:1308.0850, section
// 4.2): g = gradient + weight_decay * p; s' = alpha * s + (1 - alpha) g^2; d = g / (sqrt(s') +
// eps). If centered, s' - a'^2 takes the place of s' in the root, with a' = alpha * a + (1 - alpha)
// g; if rounding makes it negative, it is taken as 0 (PyTorch gives NaN). With momentum, b' =
// momentum * b + d takes the place of d. p' = p - rate * d.
struct RmsProp {
  double alpha = 0.99;
  double eps = 1e-8;
  double momentum = 0;
  double weight_decay = 0;
  bool centered = false;
  bool decay_vectors = true;

  // The initial state: for every parameter "square_avg.<name>", "grad_avg.<name>" if centered,
  // "momentum.<name>" with momentum; all zeros.
  Params init(const Params& params) const;
  // One step. `gradients` has the names of the parameters. `rate`, and `gradient_scale` if given,
  // are scalars of their dtype; the gradients are first multiplied by gradient_scale.
  Update operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                    Value gradient_scale = {}) const;

  static const OptimizerRecord record;
};

}  // namespace limpid::optim
