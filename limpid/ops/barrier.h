// barrier: keeps simplify and compile from merging or moving ops across it.
#pragma once

#include <vector>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op barrier;
}  // namespace op

// Returns the values unchanged. Ops after the barrier are neither merged with equal ops before it
// nor moved before it. Derivatives pass through. Throws kInvalidArgument for an empty list.
std::vector<Value> barrier(std::span<const Value> values);
Value barrier(Value value);

}  // namespace limpid
