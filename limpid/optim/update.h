// Update: what every optimiser gives back for (parameters, gradients, state, rate).
#pragma once

#include "limpid/function/value.h"

namespace limpid::optim {

struct Update {
  Args params;
  Args state;
};

}  // namespace limpid::optim
