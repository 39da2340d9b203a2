// Jacobians, Hessians and products with them, as Functions made of vjp, jvp and vmap. For code on
// Values, jacobian() and hessian() take a Function that was traced from it.
#pragma once

#include <cstdint>

#include "limpid/transforms/wrt.h"

namespace limpid {

// How a Jacobian is computed: kReverse takes a batch of cotangents, one for each element of an
// output; kForward a batch of tangents, one for each element of an input.
enum class JacobianMode : std::uint8_t { kReverse, kForward };

// The Jacobians. Inputs: those of f. Outputs: for every f32 or f64 output of f and every input in
// `wrt`, in this order, the derivatives (output dimensions..., input dimensions...). Throws as vjp
// and jvp, and kDtype if f has no f32 or f64 output.
Function jacobian(const Function& f, const Wrt& wrt = {},
                  JacobianMode mode = JacobianMode::kReverse);

// The second derivatives of f's first output, an f32 or f64 scalar: the forward Jacobian of grad.
// Outputs: for every two inputs in `wrt` (first dimensions..., second dimensions...).
Function hessian(const Function& f, const Wrt& wrt = {});

// The product of the Hessian with a vector, without the Hessian: forward mode over grad. Inputs:
// those of f, then a tangent of each input in `wrt`, with its type. Outputs: one of each input in
// `wrt`, with its type.
Function hvp(const Function& f, const Wrt& wrt = {});

}  // namespace limpid
