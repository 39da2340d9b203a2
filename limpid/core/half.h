// The 16-bit floating formats: bf16, the upper half of an f32, and f16, IEEE 754 binary16.
#pragma once

#include "limpid/core/dtype.h"

namespace limpid {

// Exact.
float to_f32(Bf16 x);
float to_f32(F16 x);

// Rounded to nearest, ties to even. Subnormals are kept, what is too large becomes infinite, and
// every NaN becomes 0x7fc0 or 0x7e00: machines differ in the sign of theirs.
Bf16 to_bf16(double x);
F16 to_f16(double x);

}  // namespace limpid
