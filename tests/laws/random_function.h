// Functions drawn from a key: shapes, ops, fan-out, constants and dead branches as they come.
#pragma once

#include "limpid/core/key.h"
#include "limpid/function/function.h"

namespace limpid::laws {

// About `nodes` ops on f32 (with the booleans and integers that lead to it), at least one output.
Function random_function(Key key, int nodes);

}  // namespace limpid::laws
