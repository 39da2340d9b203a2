// Forward-mode differentiation. For code on Values, see of_code.h.
#pragma once

#include "limpid/transforms/wrt.h"

namespace limpid {

// The Jacobian-vector product. Inputs: those of f, then a tangent of each input in `wrt`, with its
// type, named "tangent.<input>" ("tangent." is repeated if the name is taken). Outputs: those of f,
// then the tangent of each f32 or f64 output, named "tangent.<output>", or by the output's position
// if it has no name.
//
// There are no forward rules: jvp is the transpose of vjp, which is linear in the cotangents. So it
// throws what vjp throws.
Function jvp(const Function& f, const Wrt& wrt = {});

}  // namespace limpid
