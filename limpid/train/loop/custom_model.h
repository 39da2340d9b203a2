// CustomModel: one's own network, to train with everything that the networks of the tool have:
// evaluation, checkpoints, logs, findings, shards and ranks. Depends on problem.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/data/dataset.h"
#include "limpid/function/function.h"
#include "limpid/train/loop/problem.h"

namespace limpid::train {

// Functions of one example, of which vmap makes those of a batch: what an example gives does not
// depend on the others. The inputs before the example are values of `params`, by name.
struct CustomModel {
  // At inference: (params..., x) to one output.
  Function inference;
  // In training, if it differs: (params..., x, key) to one output. The key, an i64 scalar, is
  // another one for each example of each step.
  std::optional<Function> training = {};
  // (output, target) of one example to its loss or losses, whose mean counts; default: by the task.
  std::optional<Function> loss = {};
  // The initial values, and those of them that stay as they are.
  Params params;
  std::vector<std::string> frozen = {};
};

// The problem of training it on examples like those of `train`. `usual` replaces the loss of the
// task where the model has none. Throws kInvalidArgument, kShape or kDtype, naming the part, for
// Functions that do not fit each other, the parameters or the data.
Problem custom_problem(const CustomModel& model, const Dataset& train,
                       const std::optional<Loss>& usual = {});

// A hash of the Functions and the initial values, for the identity of a run.
std::uint64_t hash_of(const CustomModel& model);

}  // namespace limpid::train
