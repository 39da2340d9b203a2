// Evaluator: the loss and the metrics of a model over a data set, in batches. Leans on compile.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "limpid/compile/predictor.h"
#include "limpid/data/dataset.h"
#include "limpid/train/metrics.h"
#include "limpid/train/problem.h"

namespace limpid::train {

class Evaluator {
 public:
  using Pointers = std::span<const void* const>;

  // `inference` of one example: parameters and last the data, to one output; `losses` as in
  // Problem, called with all inputs of the function but the data. Throws kShape or kDtype where the
  // data does not fit.
  Evaluator(const Function& inference, const Losses& losses, const Dataset& data,
            ThreadPool* pool = nullptr);
  Evaluator(const Problem& problem, const Dataset& data, ThreadPool* pool = nullptr)
      : Evaluator(problem.inference, problem.losses, data, pool) {}

  // "loss", the mean over the examples of the mean of their losses, of tokens the mean over all
  // that count; and the metrics of the data's task. Neither the pool nor how examples are batched
  // changes a bit. Logits of tokens are never there for more than a batch.
  TestResult operator()(const Params& params);
  // The same for parameters in the order of the function's inputs, wherever they are.
  TestResult operator()(Pointers params);

 private:
  // What the batches have given so far.
  struct Sums {
    double loss = 0;
    std::int64_t losses = 0;
  };
  // The outputs of examples [first, first + count).
  Tensor run(std::span<const Tensor> params, std::int64_t first, std::int64_t count,
             const Tensor& targets, Sums& sums);
  TestResult all_at_once(std::span<const Tensor> params, Sums& sums);
  TestResult batch_by_batch(std::span<const Tensor> params, Sums& sums);

  Function function_;
  Dataset data_;
  std::int64_t batch_ = 0;            // examples of a batch
  std::optional<Predictor> predict_;  // outputs and losses
};

}  // namespace limpid::train
