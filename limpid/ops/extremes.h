// The choices of maxima and minima, shared by reductions and pooling.
#pragma once

#include <limits>
#include <type_traits>

#include "limpid/core/arithmetic.h"

namespace limpid {

struct Highest {
  template <class T>
  static T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::min();
  }
  template <class T>
  static T better(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return a < b ? b : a;
    else
      return arithmetic::maximum(a, b);
  }
};
struct Lowest {
  template <class T>
  static T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <class T>
  static T better(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return b < a ? b : a;
    else
      return arithmetic::minimum(a, b);
  }
};

}  // namespace limpid
