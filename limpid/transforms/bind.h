// bind: partial application. Bound inputs become constants, which compile() packs and simplify()
// may fold.
#pragma once

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

// f with the inputs named in `values` replaced by these constants; the other inputs stay, in order.
// Preserves the bits. Throws kNotFound for an unknown input, kShape or kDtype for a value of
// another type.
Function bind(const Function& f, const Params& values);

}  // namespace limpid
