// emit_cpp: turns a Function into a self-contained C++ header for programs without Limpid: weights
// as constant arrays, code as loops, no allocation. docs/embedding.md shows how to use it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

// Options of emit_cpp().
struct EmitOptions {
  // Namespace of the code: a C++ identifier that is no function of the C library.
  std::string namespace_name = "net";
  // If the workspace has at most this many bytes, a run() that keeps it on the stack is also
  // written.
  std::size_t stack_bytes = std::size_t{16} << 10;
  // Names of the elements of an input or output, by its name; listed in a comment.
  std::map<std::string, std::vector<std::string>> element_names = {};
};

// The text of the header, C++17 for GCC and Clang. Its results have the bits of interpret(), except
// NaNs, on any machine with IEEE 754 arithmetic; in f64, elementary functions (exp, log, tanh, ...)
// are those of that machine's C++ library. `params` are bound to inputs by name and become
// constants; the other inputs are the arguments. Throws kInvalidArgument if the namespace is not a
// C++ identifier; kUnsupported for ops that cannot be emitted, naming all of them; and what bind()
// throws.
std::string emit_cpp(const Function& function, const Params& params = {},
                     const EmitOptions& options = {});

}  // namespace limpid
