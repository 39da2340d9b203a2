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

}  // namespace limpid::optim
