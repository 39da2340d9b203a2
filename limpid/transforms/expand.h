// expand: compositions replaced by their bodies.
#pragma once

#include <functional>

#include "limpid/function/function.h"

namespace limpid {

// Every composition for which `wanted` holds becomes the ops of its body, and so on inside of it;
// primitives stay. Preserves the bits: the body is what a composition means.
Function expand(const Function& function, const std::function<bool(const Call&)>& wanted);

// All the way down to primitives.
inline Function expand(const Function& function) {
  return expand(function, [](const Call&) { return true; });
}

}  // namespace limpid
