// Update: what every optimiser gives back for (parameters, gradients, state, rate).
#pragma once

#include "limpid/function/value.h"

namespace limpid::optim {

struct Update {
  Args params;
  Args state;
};

// Whether an optimiser with `weight_decay` and `decay_vectors` makes this parameter decay. Without
// decay_vectors those of fewer than two dimensions do not, biases and the gains of norms, as is
// usual (Goodfellow, Bengio, Courville: Deep Learning, 2016, section 7.1).
inline bool decays(double weight_decay, bool decay_vectors, const Value& p) {
  return weight_decay != 0 && (decay_vectors || p.rank() >= 2);
}

}  // namespace limpid::optim
