// Shrinks a Function that breaks a law, so that people can find the cause.
#pragma once

#include <functional>

#include "limpid/function/function.h"

namespace limpid::laws {

// A Function for which `fails` holds, but not for any that is one step simpler: one output less,
// another value as the only output, a value turned into an input, an op bypassed between values of
// one type, two inputs merged. `fails` holds for f.
Function shrink(Function f, const std::function<bool(const Function&)>& fails);

}  // namespace limpid::laws
