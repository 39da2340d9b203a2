// The Functions that a call holds in its attributes.
#pragma once

#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// In the order of the attributes' names; most calls have none.
inline std::vector<Function> nested_functions(const Attributes& attributes) {
  std::vector<Function> all;
  for (const auto& [name, attribute] : attributes)
    if (const auto* nested = std::get_if<Nested>(&attribute)) all.push_back(nested->function());
  return all;
}

}  // namespace limpid
