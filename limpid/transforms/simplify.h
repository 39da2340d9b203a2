// simplify: the same Function with less work in it.
#pragma once

#include "limpid/function/function.h"

namespace limpid {

// Until nothing changes: ops that no output needs go; calls alike (same op, inputs and attributes)
// become one; calls of constants become constants, by the reference arithmetic, unless that takes
// long or makes much of little; and each op's own rule (Op::simplification) is applied, such as
// x * 1 or a transpose of a transpose. Preserves the bits, those of NaNs aside. The inputs all
// stay.
Function simplify(const Function& function);

}  // namespace limpid
