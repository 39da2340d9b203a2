// One update of training as a Function: forward, backward and optimiser in one, so that it compiles
// to one plan. Leans on problem.h, transforms and optim.
#pragma once

#include <cstdint>

#include "limpid/optim/clip.h"
#include "limpid/optim/optimizer.h"
#include "limpid/train/problem.h"

namespace limpid::train {

// What turns gradients into an update.
struct UpdateRule {
  optim::Optimizer optimizer = optim::Sgd{.momentum = 0.9};
  optim::Clip clip = {};
};

// The loss in training. Inputs: the parameters, what is carried, "x" (rows, ...), "y" (rows, ...)
// and "key" i64 (of dropout and its like). Outputs: "loss", the mean over the rows, and what is
// carried on.
Function loss_function(const Problem& problem, std::int64_t rows);

// Inputs: the parameters, what is carried, the optimiser's state, "x", "y", "key", "rate" f32.
// Outputs: the new parameters, what is carried on and the new state, under their names; "loss" and
// "gradient_norm", before any clipping.
Function step_function(const Problem& problem, const UpdateRule& rule, std::int64_t rows);

// An update from several micro batches, which then take the memory of one only. The gradient and
// the loss are the sums
//
//   ((0 + share_0 g_0) + share_1 g_1) + ... ,  share_i = rows of micro batch i / rows of all,
//
// in the order of the micro batches: that of the whole batch but for rounding, and for what looks
// at a batch as a whole (batch norm).
//
// Every micro batch but the last: "sum.<parameter>" for each parameter and "loss_sum", all of them
// zero before the first one, are handed on. Inputs: the parameters, what is carried, the sums, "x",
// "y", "key", "share" f32. Outputs: what is carried on, and the sums.
Function accumulate_function(const Problem& problem, std::int64_t rows);
// The last one: step_function with the sums behind the optimiser's state, and "share" behind "key".
Function accumulated_step_function(const Problem& problem, const UpdateRule& rule,
                                   std::int64_t rows);

// The sums as inputs of these functions.
std::vector<Input> sum_inputs(const Problem& problem);

}  // namespace limpid::train
