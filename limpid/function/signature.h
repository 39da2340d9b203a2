// What every call is checked for before its op's own type rule: the number of inputs and the
// attributes.
#pragma once

#include "limpid/function/op.h"

namespace limpid {

// Throws kInvalidArgument.
void check_signature(const Call& call);

}  // namespace limpid
