// Ops that leave their values unchanged and hold something back: barrier, merging and moving;
// stop_gradient, derivatives.
#pragma once

#include <vector>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op barrier, stop_gradient;
}  // namespace op

// Returns the values unchanged. Ops after the barrier are neither merged with equal ops before it
// nor moved before it. Derivatives pass through. Throws kInvalidArgument for an empty list.
std::vector<Value> barrier(std::span<const Value> values);
Value barrier(Value value);

// x, treated as a constant by grad and jvp (PyTorch: detach). Another way is to compute x outside
// of the code that is differentiated: captured Values are constants, too.
Value stop_gradient(Value x);

}  // namespace limpid
