// simplify: an equivalent Function with fewer ops.
#pragma once

#include "limpid/function/function.h"

namespace limpid {

// Until nothing changes, or in 32 passes: dead-code elimination; common-subexpression elimination
// (same op, inputs and attributes); constant folding by the reference arithmetic, unless it takes
// long or makes a large constant of small ones (2^28 operations and 2^22 + 4 times the given
// elements in all); and each op's own rule (Op::simplification), such as x * 1 or a transpose of a
// transpose. Preserves the bits, except those of NaNs. All inputs stay.
Function simplify(const Function& function);

}  // namespace limpid
