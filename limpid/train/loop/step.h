// A training step as a Function: forward, backward and optimiser in one, so that it compiles to one
// plan. Depends on problem.h, transforms and optim.
#pragma once

#include <cstdint>

#include "limpid/optim/clip.h"
#include "limpid/optim/optimizer.h"
#include "limpid/train/loop/problem.h"

namespace limpid::train {

// Optimiser and clipping: turns gradients into an update.
struct UpdateRule {
  optim::Optimizer optimizer = optim::Sgd{.momentum = 0.9};
  optim::Clip clip = {};
};

// The training loss. Inputs: the parameters, the non-trainable state, "x" (rows, ...), "y" (rows,
// ...) and "key" i64 (for dropout). Outputs: "loss", the mean over the rows, and the new
// non-trainable state.
Function loss_function(const Problem& problem, std::int64_t rows);

// A whole step. Inputs: the parameters, the non-trainable state, the optimiser state, "x", "y",
// "key", "rate" f32. Outputs: the new parameters, non-trainable state and optimiser state, with the
// same names; "loss"; and "gradient_norm", before clipping.
Function step_function(const Problem& problem, const UpdateRule& rule, std::int64_t rows);

// Gradient accumulation: an update from several micro-batches, with the memory of one. The gradient
// and the loss are the sums
//
//   ((0 + share_0 g_0) + share_1 g_1) + ... ,  share_i = rows of micro batch i / rows of all,
//
// in the order of the micro-batches. They equal those of the whole batch up to rounding, except
// with batch norm, which depends on the batch as a whole.
//
// For every micro-batch but the last. The sums are "accumulated.<parameter>" for each parameter and
// "loss_sum", zero before the first micro-batch. Inputs: the parameters, the non-trainable state,
// the sums, "x", "y", "key", "share" f32. Outputs: the new non-trainable state and the sums.
Function accumulate_function(const Problem& problem, std::int64_t rows);
// For the last micro-batch: step_function with the sums as inputs after the optimiser state, and
// "share" after "key".
Function accumulated_step_function(const Problem& problem, const UpdateRule& rule,
                                   std::int64_t rows);

// The sums as inputs of these functions.
std::vector<Input> sum_inputs(const Problem& problem);

}  // namespace limpid::train
