// Adam and AdamW: steps from running means of the gradient and of its square.
#pragma once

#include "limpid/core/params.h"
#include "limpid/optim/record.h"
#include "limpid/optim/update.h"

namespace limpid::optim {

// As PyTorch's Adam (Kingma and Ba 2015, algorithm 1), where t counts the steps from 1:
//
//   g  = gradient + weight_decay * p
//   m' = beta1 * m + (1 - beta1) g,   v' = beta2 * v + (1 - beta2) g^2
//   p' = p - rate / (1 - beta1^t) * (m' / (sqrt(v') / sqrt(1 - beta2^t) + eps))
//
// With amsgrad (Reddi, Kale, Kumar 2018) the largest v' so far takes the place of v' in the root.
// In f32, g^2 is infinite from |g| = 1.8e19 on, and v stays so: the parameter never moves again.
// A training run ends there instead, since the norm of the gradient is infinite, too; in a loop of
// your own, clip the gradients or look at v.
//
// The powers of beta are state: f64 scalars that each step multiplies by beta. f64 products are the
// same on all machines, and 1 - beta^t keeps full f32 precision (in f32 it would lose half of the
// digits for beta2 = 0.999 in the first step). The quotients are then rounded to the parameters'
// dtype.
struct Adam {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool decay_vectors = true;

  // The initial state: for every parameter "exp_avg.<name>", "exp_avg_sq.<name>", and with amsgrad
  // "max_exp_avg_sq.<name>", zeros; then "beta1_power" and "beta2_power", f64 scalars of 1.
  Params init(const Params& params) const;
  // One step. `gradients` has the names of the parameters. `rate`, and `gradient_scale` if given,
  // are scalars of their dtype; the gradients are first multiplied by gradient_scale.
  Update operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                    Value gradient_scale = {}) const;

  static const OptimizerRecord record;
};

// Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), as PyTorch's AdamW: g
// is the gradient without the weight decay, and p * (1 - rate * weight_decay) takes the place of p.
// The state is that of Adam.
struct AdamW {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
  bool decay_vectors = true;

  // As in Adam.
  Params init(const Params& params) const;
  Update operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                    Value gradient_scale = {}) const;

  static const OptimizerRecord record;
};

}  // namespace limpid::optim
