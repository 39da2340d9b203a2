// Adam and AdamW: steps from running averages of the gradient and of its square.
#pragma once

#include "limpid/core/params.h"
#include "limpid/optim/record.h"
#include "limpid/optim/update.h"

namespace limpid::optim {

// As PyTorch's Adam (Kingma and Ba 2015, algorithm 1), t counting the steps from 1:
//
//   g  = gradient + weight_decay * p
//   m' = beta1 * m + (1 - beta1) g,   v' = beta2 * v + (1 - beta2) g^2
//   p' = p - rate / (1 - beta1^t) * (m' / (sqrt(v') / sqrt(1 - beta2^t) + eps))
//
// With amsgrad (Reddi, Kale, Kumar 2018) the root is that of the largest v' so far.
//
// The powers of beta are state: f64 scalars, multiplied by beta in every step. IEEE products of f64
// are the same everywhere, and 1 - beta^t loses no digit that f32 has, which in f32 it would: half
// of them for beta2 = 0.999 in the first step. The quotients are then rounded to the parameters'
// dtype.
struct Adam {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool decay_vectors = true;

  // For every parameter "exp_avg.<name>", "exp_avg_sq.<name>", and with amsgrad
  // "max_exp_avg_sq.<name>", zeros; then "beta1_power" and "beta2_power", f64 scalars of 1.
  Params init(const Params& params) const;
  // gradients has the parameters' names; rate is a scalar of their dtype, and so is what scales the
  // gradients on their way, where that is given.
  Update operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                    Value gradient_scale = {}) const;

  static const OptimizerRecord<Adam> record;
};

// Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), as PyTorch's AdamW: g
// is the gradient alone, and p * (1 - rate * weight_decay) takes the place of p. The state is
// Adam's.
struct AdamW {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
  bool decay_vectors = true;

  // As Adam's.
  Params init(const Params& params) const;
  Update operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                    Value gradient_scale = {}) const;

  static const OptimizerRecord<AdamW> record;
};

}  // namespace limpid::optim
