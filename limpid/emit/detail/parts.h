// The functions that emitted code calls: the scalar specification's own text (limpid/core, and the
// element-wise arithmetic of limpid/ops) and the loops around it (limpid/emit/parts).
#pragma once

#include <string>
#include <string_view>

namespace limpid::emit {

// A file of the library as it was when the library was built.
struct Source {
  std::string_view text;
  // The definitions that may be taken, between spaces, "functors" for all structs with an
  // operator(); all definitions where empty.
  std::string_view only;
};

// The definitions that `code` needs, those that they need, and so on, in an order in which they
// can stand in a header; functions are made inline.
std::string parts_for(std::string_view code);

}  // namespace limpid::emit
