// An optimiser's step on one parameter, as one op.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op adam_update;
}  // namespace op

// Adam's numbers that stay the same.
struct AdamNumbers {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};
// Those that change from step to step, scalars of the parameter's dtype.
struct AdamScalars {
  Value gradient_scale;  // of clipping; 1 without
  Value decay;           // of the parameter, decoupled as in AdamW; 1 without
  Value step_size;       // rate / (1 - beta1^t)
  Value root;            // sqrt(1 - beta2^t)
};
struct AdamUpdated {
  Value parameter, mean, square;
};

// With g = gradient * gradient_scale (Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019,
// algorithm 2):
//
//   mean' = mean * beta1 + g * (1 - beta1),  square' = square * beta2 + g * g * (1 - beta2),
//   parameter' = parameter * decay - step_size * (mean' / (sqrt(square') / root + eps)).
//
// Throws kShape or kDtype where the four differ in type, or a scalar is none.
AdamUpdated adam_update(Value parameter, Value gradient, Value mean, Value square,
                        const AdamScalars& scalars, const AdamNumbers& numbers);

}  // namespace limpid
