// The reference pages of the ops, generated from the op records. Depends on function, transforms
// and op_example.h.
#pragma once

#include <string>

#include "limpid/function/op.h"

namespace limpid {

// The reference of one op in Markdown: its record, and its body and gradient for its first f32
// example.
std::string op_reference(const Op& op);

// A table of all ops, then the reference of each: docs/reference/ops.md.
std::string ops_reference();

}  // namespace limpid
