// Makes a Function that breaks a law small, for the eyes of whoever has to find out why.
#pragma once

#include <functional>

#include "limpid/function/function.h"

namespace limpid::laws {

// A Function for which `fails` still holds and to which nothing simpler of that kind is: an output
// less, an output that is an operand of what was one, a value that has become an input, an op left
// out between values of one type. `fails` holds for f.
Function shrink(Function f, const std::function<bool(const Function&)>& fails);

}  // namespace limpid::laws
