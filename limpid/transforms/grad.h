// Reverse mode: gradients as Functions, which can be differentiated again.
#pragma once

#include <string>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// The vector-Jacobian product. Inputs: those of f, then one cotangent for every output, of its
// type, named "cotangent.0", ... Outputs: those of f, then for every input in `wrt` (positions) the
// cotangent of its type, named "grad.<input>". An input that the outputs do not depend on has a
// gradient of zeros. Throws kNoGradient, naming op and layer, where they depend on it only through
// ops without a derivative; kDtype where it or an output is not f32 or f64.
Function vjp(const Function& f, const std::vector<std::size_t>& wrt);

// f's first output must be a floating scalar, the loss; the others ride along. The inputs of f; f's
// outputs, then the gradients of the loss. Throws as vjp, and kShape where the loss is no scalar.
Function value_and_grad(const Function& f, const std::vector<std::size_t>& wrt);

// The gradients alone.
Function grad(const Function& f, const std::vector<std::size_t>& wrt);

}  // namespace limpid
