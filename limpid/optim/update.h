// Update: what every optimiser gives back for (parameters, gradients, state, rate). All of them
// throw kShape if a gradient has another shape than its parameter, or if the rate (or the scale of
// the gradients, if given) is not a scalar; kNotFound if a gradient or a state is missing.
#pragma once

#include "limpid/function/value.h"

namespace limpid::optim {

struct Update {
  Args params;
  Args state;
};

// Whether an optimiser with these options applies weight decay to this parameter. Without
// decay_vectors, parameters with fewer than two dimensions (biases, norm weights) do not decay, as
// is usual (Goodfellow, Bengio, Courville: Deep Learning, 2016, section 7.1).
inline bool decays(double weight_decay, bool decay_vectors, const Value& p) {
  return weight_decay != 0 && (decay_vectors || p.rank() >= 2);
}

}  // namespace limpid::optim
