// widen: the same Function in f64, for comparisons at higher precision.
#pragma once

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

// Turns every f32 input, constant and result into f64; other dtypes stay. Throws kDtype, naming the
// op, if an op does not support f64.
Function widen(const Function& f);
// Converts f32 to f64, exactly; other tensors stay.
Tensor widen(const Tensor& tensor);

}  // namespace limpid
