// L-BFGS: the minimum of a smooth loss of all data, by its gradients. Not a step by step optimiser:
// one op, a loop with a loop for the line search in it, that is compiled with the loss.
#pragma once

#include <cstdint>
#include <span>

#include "limpid/function/call.h"

namespace limpid::optim {

// Options of lbfgs(). Those of scipy's minimize have its defaults.
struct LbfgsOptions {
  std::int64_t history = 10;          // pairs of steps and changes of the gradient that are kept
  std::int64_t max_steps = 1000;      // the most steps
  std::int64_t max_line_search = 20;  // the most evaluations of a line search
  double gradient_tolerance = 1e-5;   // stop if no element of the gradient is larger
  double value_tolerance = 2.220446049250313e-09;  // or if the loss falls by less of max(|loss|, 1)
  double sufficient_decrease = 1e-4;               // c1 of the strong Wolfe conditions
  double curvature = 0.9;                          // c2
};

// Why lbfgs() ended.
enum class LbfgsStatus : std::int32_t { kMaxSteps, kGradient, kValue, kLineSearch };

// What lbfgs() gives: scalars but for x and the gradient there.
struct LbfgsResult {
  Value x, value, gradient;
  Value steps, evaluations;  // i32
  Value status;              // i32, an LbfgsStatus
};

// Minimises `loss`, whose first input is x, a vector of f32 or f64, and whose first output is a
// scalar; its other inputs are `shared`. Nocedal and Wright, Numerical Optimization (2006):
// algorithms 7.4 and 7.5 with the scale of equation 7.20, line search by algorithms 3.5 and 3.6
// with cubic interpolation. Throws kShape, kDtype, kInvalidArgument for options out of range, and
// what value_and_grad throws.
LbfgsResult lbfgs(const Function& loss, Value x, std::span<const Value> shared = {},
                  const LbfgsOptions& options = {});

}  // namespace limpid::optim
