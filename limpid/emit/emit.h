// emit_cpp: a Function becomes one self-contained C++ header for programs without Limpid: weights
// as constant arrays, code as loops, no allocation. docs/embedding.md shows its use.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

// How the code is to be.
struct EmitOptions {
  std::string namespace_name = "net";  // of what is written; an identifier of C++
  // A workspace of up to so many bytes may stand on the stack: run() without one exists then.
  std::size_t stack_bytes = std::size_t{16} << 10;
  // What the elements of an input or output are called, by its name; a comment lists them.
  std::map<std::string, std::vector<std::string>> element_names = {};
};

// The header's text, C++17 for GCC and Clang. It gives the bits of interpret(), NaNs aside, on any
// machine with IEEE 754 arithmetic; in f64 the functions beyond IEEE 754 (exp, log, tanh, ...) are
// those of the C++ library there. `params` are bound to the inputs of their names and become
// constants; what is left are the arguments.
// Throws kInvalidArgument where the namespace is no identifier of C++, kUnsupported for ops that
// have no form in C++, naming all of them, and what bind() throws.
std::string emit_cpp(const Function& function, const Params& params = {},
                     const EmitOptions& options = {});

}  // namespace limpid
