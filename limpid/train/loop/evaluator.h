// Evaluator: computes loss and metrics of a model over a data set, in batches, on one rank or
// several. Depends on compile and distribute.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "limpid/compile/predictor.h"
#include "limpid/data/dataset.h"
#include "limpid/distribute/communicator.h"
#include "limpid/distribute/shard_tree.h"
#include "limpid/train/loop/metrics.h"
#include "limpid/train/loop/problem.h"

namespace limpid::train {

class Evaluator {
 public:
  using Pointers = std::span<const void* const>;

  // `inference` is a Function of one example. Inputs: the parameters, then the data; one output.
  // `losses` is as in Problem; it gets all inputs except the data. With ranks, every rank
  // constructs an Evaluator with the same arguments and makes the same calls; each runs the model
  // on its share of the examples. Throws kShape or kDtype if the data does not match.
  Evaluator(const Function& inference, const Losses& losses, const Dataset& data,
            ThreadPool* pool = nullptr, distribute::Communicator* ranks = nullptr);
  Evaluator(const Problem& problem, const Dataset& data, ThreadPool* pool = nullptr,
            distribute::Communicator* ranks = nullptr)
      : Evaluator(problem.inference, problem.losses, data, pool, ranks) {}

  // "loss", and the metrics of the task. The loss is the mean over the examples of their mean loss;
  // for tokens, the mean over all targets that count. The bits do not depend on the pool, the ranks
  // or the batches: the first rank adds up in the order of the examples. The other ranks get only
  // the metrics, without what is by class or target. Logits of tokens are kept for one batch at a
  // time.
  TestResult operator()(const Params& params);
  // The same, with the addresses of the parameters in the order of the function's inputs.
  TestResult operator()(Pointers params);

 private:
  // The scores of some examples, in order.
  struct Scores {
    std::vector<float> losses;  // of the targets that count
    TokenScores tokens;         // of a text: one for each loss
  };
  // Sums over the examples so far.
  struct Sums {
    double loss = 0;
    std::int64_t losses = 0;
    NextTokenMetrics tokens;

    void add(const Scores& scores);
  };

  int rank() const { return ranks_ ? ranks_->rank() : 0; }
  int size() const { return ranks_ ? ranks_->size() : 1; }
  // The examples of a rank.
  distribute::ShardRange examples_of(int rank) const {
    return distribute::shards_of(data_.size(), size(), rank);
  }
  bool reads_text() const { return data_.task == Task::kNextToken; }
  const Type& output() const { return function_.type(function_.outputs()[0].value); }
  std::int64_t counted(std::int64_t row) const;
  // The bytes of `examples` in a memory whose first example is `begin`.
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
