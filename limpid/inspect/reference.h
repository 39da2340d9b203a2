// The op table for people: every page and line of it is made from the records, so that it cannot
// drift from them. Leans on function, transforms and op_example.h.
#pragma once

#include <string>

#include "limpid/function/op.h"

namespace limpid {

// What a record says of one op, with its body and gradient written out at its first f32 example;
// Markdown.
std::string op_reference(const Op& op);

// A table of all ops, then each of them: docs/reference/ops.md.
std::string ops_reference();

}  // namespace limpid
