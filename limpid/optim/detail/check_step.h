// What every optimiser asks of its operands. A broadcast would give a parameter another shape, or
// one element of a gradient to several of its elements.
#pragma once

#include <string_view>

#include "limpid/function/value.h"

namespace limpid::optim::detail {

// Throws kShape unless every gradient has the shape of its parameter and the rate is a scalar,
// kNotFound if a gradient is missing.
void check_step(const Args& params, const Args& gradients, const Value& rate);
// Throws kShape, naming `what`, unless the value is a scalar.
void check_scalar(std::string_view what, const Value& value);

}  // namespace limpid::optim::detail
