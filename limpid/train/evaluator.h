// Evaluator: the loss and the metrics of a model over a data set, in batches, by one rank or
// several. Depends on compile and distribute.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "limpid/compile/predictor.h"
#include "limpid/data/dataset.h"
#include "limpid/distribute/communicator.h"
#include "limpid/distribute/shard_tree.h"
#include "limpid/train/metrics.h"
#include "limpid/train/problem.h"

namespace limpid::train {

class Evaluator {
 public:
  using Pointers = std::span<const void* const>;

  // `inference` of one example: parameters and last the data, to one output; `losses` as in
  // Problem, called with all inputs of the function but the data. With ranks each of them makes an
  // Evaluator of the same arguments and then the same calls, and runs the model on its part of the
  // examples. Throws kShape or kDtype where the data does not fit.
  Evaluator(const Function& inference, const Losses& losses, const Dataset& data,
            ThreadPool* pool = nullptr, distribute::Communicator* ranks = nullptr);
  Evaluator(const Problem& problem, const Dataset& data, ThreadPool* pool = nullptr,
            distribute::Communicator* ranks = nullptr)
      : Evaluator(problem.inference, problem.losses, data, pool, ranks) {}

  // "loss", the mean over the examples of the mean of their losses, of tokens the mean over all
  // that count; and the metrics of the data's task. Neither the pool, the ranks nor how examples
  // are batched changes a bit: sums are made in the order of the examples, by the first rank. The
  // others get the metrics alone, without confusion and classes. Logits of tokens are never there
  // for more than a batch.
  TestResult operator()(const Params& params);
  // The same for parameters in the order of the function's inputs, wherever they are.
  TestResult operator()(Pointers params);

 private:
  // What some examples give, in their order.
  struct Scores {
    std::vector<float> losses;  // those that count
    TokenScores tokens;         // of a text, as many
  };
  // What all examples before some place have given.
  struct Sums {
    double loss = 0;
    std::int64_t losses = 0;
    NextTokenMetrics tokens;

    void add(const Scores& scores);
  };

  int rank() const { return ranks_ ? ranks_->rank() : 0; }
  int size() const { return ranks_ ? ranks_->size() : 1; }
  // The examples that a rank runs the model on.
  distribute::ShardRange examples_of(int rank) const {
    return distribute::shards_of(data_.size(), size(), rank);
  }
  bool reads_text() const { return data_.task == Task::kNextToken; }
  const Type& output() const { return function_.type(function_.outputs()[0].value); }
  std::int64_t counted(std::int64_t row) const;
  // The bytes of examples in memory that begins with example `begin`.
  std::span<std::byte> outputs_at(std::span<std::byte> memory, std::int64_t begin,
                                  distribute::ShardRange examples) const;

  void run(std::span<const Tensor> params, std::int64_t first, std::int64_t count, Scores& scores,
           std::span<std::byte> outputs);
  void run_all(std::span<const Tensor> params, std::span<std::byte> outputs, Sums& sums);
  void receive(std::span<std::byte> outputs, Sums& sums);
  TestResult share(const TestResult& result);

  Function function_;
  Dataset data_;
  distribute::Communicator* ranks_;
  std::int64_t batch_ = 0;            // examples of a batch
  std::optional<Predictor> predict_;  // outputs and losses
};

}  // namespace limpid::train
