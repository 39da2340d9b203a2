// Makes a Function that breaks a law small, for the eyes of whoever has to find out why.
#pragma once

#include <functional>

#include "limpid/function/function.h"

namespace limpid::laws {

// A Function for which `fails` still holds and for none that is one step simpler: with an output
// less, another value as the only output, a value become an input, an op left out between values of
// one type, two inputs become one. `fails` holds for f.
Function shrink(Function f, const std::function<bool(const Function&)>& fails);

}  // namespace limpid::laws
