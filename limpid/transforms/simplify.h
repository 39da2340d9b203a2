// simplify: the same Function with less work in it.
#pragma once

#include "limpid/function/function.h"

namespace limpid {

// Calls alike (same op, inputs and attributes) become one, and ops that no output needs go.
// Preserves the bits. The inputs all stay.
Function simplify(const Function& function);

}  // namespace limpid
