// widen: the same Function in f64, for those who compare it with something.
#pragma once

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

// Every f32 of inputs, constants and results becomes an f64; other dtypes stay. Throws kDtype,
// naming the op, where one takes no f64.
Function widen(const Function& f);
// f32 becomes f64, exactly; other tensors stay.
Tensor widen(const Tensor& tensor);

}  // namespace limpid
