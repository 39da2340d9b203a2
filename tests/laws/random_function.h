// Functions drawn from a key: ops of the whole table by their records, shapes, fan-out, constants
// and dead branches as they come.
#pragma once

#include "limpid/core/key.h"
#include "limpid/function/function.h"

namespace limpid::laws {

// About `nodes` calls on f32 or f64 (with the booleans and integers that lead to them), with inputs
// "x0", "x1", ... of that dtype and at least one output. Ops that do not take the dtype are left
// out.
Function random_function(Key key, int nodes, Dtype dtype = Dtype::kF32);

}  // namespace limpid::laws
