// The check of every call before its op's type rule: the number of inputs, and the attributes.
#pragma once

#include "limpid/function/op.h"

namespace limpid {

// Throws kInvalidArgument for a wrong number of inputs, or for missing, unknown or mistyped
// attributes.
void check_signature(const Call& call);

}  // namespace limpid
