// An optimiser step on one parameter, as one op.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op adam_update;
}  // namespace op

// Adam's constant hyper-parameters.
struct AdamNumbers {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};
// Adam's values that change from step to step: scalars of the parameter's dtype.
struct AdamScalars {
  Value gradient_scale;  // of clipping; 1: no clipping
  Value decay;           // factor of the parameter, AdamW's decoupled weight decay; 1: none
  Value step_size;       // rate / (1 - beta1^t)
  Value root;            // sqrt(1 - beta2^t)
};
struct AdamUpdated {
  Value parameter, mean, square;
};

// Adam and AdamW with g = gradient * gradient_scale (Kingma and Ba 2015, algorithm 1; Loshchilov
// and Hutter 2019, algorithm 2):
//
//   mean' = mean * beta1 + g * (1 - beta1),  square' = square * beta2 + g * g * (1 - beta2),
//   parameter' = parameter * decay - step_size * (mean' / (sqrt(square') / root + eps)).
//
// Throws kShape or kDtype if the types of the four tensors differ, or if one of `scalars` is not a
// scalar of their dtype.
AdamUpdated adam_update(Value parameter, Value gradient, Value mean, Value square,
                        const AdamScalars& scalars, const AdamNumbers& numbers);

}  // namespace limpid
