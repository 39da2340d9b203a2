// Mean and variance of any axes.
#pragma once

#include "limpid/function/value.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/barrier.h"

namespace limpid {

struct Moments {
  Value mean;      // rounded
  Value centred;   // x about its mean, in the shape of x
  Value variance;  // divides by the number of elements
};
// `mean(v)` is the mean of a value of the shape of x, `spread(m)` such a mean in the shape of x.
//
// A mean is rounded to a number near it. If the mean is large and the deviations are small, this
// error exceeds them; but x - mean is then exact. So its own mean, the error, is removed from it:
// from the square by (a + b)^2 = a^2 + b^2 on average, which cannot become negative. The error is
// treated as a constant, since without rounding it is 0 for every x.
template <class Mean, class Spread>
Moments moments_of(const Value& x, const Mean& mean, const Spread& spread) {
  const Value first = mean(x);
  const Value near = x - spread(first);
  const Value rest = stop_gradient(mean(near));
  const Value square = mean(near * near);
  return {first, near - spread(rest), square - stop_gradient(minimum(rest * rest, square))};
}

}  // namespace limpid
