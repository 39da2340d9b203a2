// What the rate, and the scale of the gradients, must be: a broadcast of several numbers would give
// a parameter another shape.
#pragma once

#include <string_view>

#include "limpid/function/value.h"

namespace limpid::optim::detail {

// Throws kShape, naming `what`, unless the value is a scalar.
void check_scalar(std::string_view what, const Value& value);

}  // namespace limpid::optim::detail
