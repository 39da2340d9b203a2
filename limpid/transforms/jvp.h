// Forward mode: how the outputs move when the inputs do. For code on Values: of_code.h.
#pragma once

#include "limpid/transforms/wrt.h"

namespace limpid {

// The Jacobian-vector product. Inputs: those of f, then for every input in `wrt` a
// tangent of its type, named "tangent.<input>" (one "tangent." more where that is taken).
// Outputs: those of f, then for every output in f32 or f64 its tangent, named "tangent.<output>",
// or by the output's position where it has no name.
//
// There is no second rule per op: this is the transpose of vjp, which is linear in the cotangents.
// So it throws what vjp throws.
Function jvp(const Function& f, const Wrt& wrt = {});

}  // namespace limpid
