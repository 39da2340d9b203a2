// The functions that emitted code calls: source text of the scalar specification (limpid/core, and
// the element-wise arithmetic of limpid/ops) and loops around it (limpid/emit/parts).
#pragma once

#include <string>
#include <string_view>

namespace limpid::emit {

// A source file of the library, embedded at build time.
struct Source {
  std::string_view text;
  // Names of the definitions that may be used, separated by spaces; "functors" means all structs
  // with an operator(). Empty: all definitions.
  std::string_view only;
};

// The definitions that `code` needs, directly or indirectly, in an order that compiles in a header;
// functions become inline.
std::string parts_for(std::string_view code);

}  // namespace limpid::emit
