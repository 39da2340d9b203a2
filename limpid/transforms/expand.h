// expand: replaces compositions by their bodies.
#pragma once

#include <functional>

#include "limpid/function/function.h"

namespace limpid {

// Replaces every composition for which `wanted` is true by the ops of its body, recursively;
// primitives stay. Preserves the bits, as the body defines a composition.
Function expand(const Function& function, const std::function<bool(const Call&)>& wanted);

// Replaces all compositions, down to primitives.
inline Function expand(const Function& function) {
  return expand(function, [](const Call&) { return true; });
}

}  // namespace limpid
