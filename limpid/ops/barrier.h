// barrier: what stands behind it is not joined with what stands before it.
#pragma once

#include <vector>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op barrier;
}  // namespace op

// The values as they are. Calls behind the barrier are not joined with calls alike before it, nor
// moved before it; derivatives pass as if it were not there. Throws kInvalidArgument for no value.
std::vector<Value> barrier(std::span<const Value> values);
Value barrier(Value value);

}  // namespace limpid
