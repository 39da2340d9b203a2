// Stochastic gradient descent with momentum: a pure function of parameters, gradients and state.
#pragma once

#include "limpid/core/params.h"
#include "limpid/optim/record.h"
#include "limpid/optim/update.h"

namespace limpid::optim {

// As PyTorch's SGD: g = gradient + weight_decay * p; v' = momentum * v + g; p' = p - rate * v', or
// with Nesterov's form p - rate * (g + momentum * v') (Sutskever et al. 2013).
struct Sgd {
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool decay_vectors = true;

  // "momentum.<name>", zeros, for every parameter; nothing without momentum.
  Params init(const Params& params) const;
  // gradients has the parameters' names; rate is a scalar of their dtype.
  Update operator()(const Args& params, const Args& gradients, const Args& state, Value rate) const;

  static const OptimizerRecord<Sgd> record;
};

}  // namespace limpid::optim
