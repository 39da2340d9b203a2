// Training of a classifier: a plain loop over compiled steps, and its evaluation.
#pragma once

#include <functional>
#include <span>

#include "limpid/compile/executable.h"
#include "limpid/data/dataset.h"
#include "limpid/nn/mlp.h"
#include "limpid/optim/clip.h"
#include "limpid/optim/optimizer.h"
#include "limpid/optim/schedule.h"

namespace limpid::train {

struct ClassifierOptions {
  std::int64_t epochs = 10;
  std::int64_t batch = 128;
  optim::Schedule schedule{.kind = optim::Schedule::Kind::kLinear,
                           .rate = 0.05};  // steps: the run's
  optim::Optimizer optimizer = optim::Sgd{.momentum = 0.9};
  optim::Clip clip = {};
  std::uint64_t seed = 0;
};

struct Evaluation {
  double loss = 0;      // mean cross-entropy, nats
  double accuracy = 0;  // share of examples whose largest logit is the label's
};

struct StepReport {
  std::int64_t epoch, epochs;  // counted from 1
  std::int64_t step, steps;    // of this epoch, counted from 1
  double loss;                 // of this batch
};

struct EpochReport {
  std::int64_t epoch, epochs;  // counted from 1
  double learning_rate;        // of the last step
  double train_loss;           // mean over the examples as they were trained on, dropout at work
  Evaluation test;
  double gradient_norm;       // mean over the steps of optim::global_norm, before any clipping
  double samples_per_second;  // in training alone
};

// Called from the training thread.
struct Observer {
  std::function<void(const StepReport&)> step;
  std::function<void(const EpochReport&)> epoch;
};

// One step of training as a Function. Inputs: the parameters, the optimiser's state, "x" f32[batch,
// in], "y" i32[batch], "key" i64 (of the dropout), "rate" f32. Outputs: the new parameters and
// state under their names, "loss" (mean over the batch) and "gradient_norm" (before any clipping).
Function classifier_step(const nn::Mlp& net, const optim::Optimizer& optimizer, std::int64_t batch,
                         const optim::Clip& clip = {});

// Trains from net.init(seed) and returns the parameters. The same bits for the same options,
// whatever the pool. The last batch of an epoch may be smaller. Throws kInvalidArgument where the
// data does not fit the network.
Params train_classifier(const nn::Mlp& net, const Split& data, const ClassifierOptions& options,
                        ThreadPool* pool = nullptr, const Observer& observer = {});

// Loss and accuracy of a model of one example (inputs: the parameters, then x (features); output:
// logits) over a data set, in batches.
class Evaluator {
 public:
  Evaluator(const Function& model, const Dataset& data, ThreadPool* pool = nullptr);
  Evaluation operator()(const Params& params);
  // The same for parameters in the order of the model's inputs, wherever they are.
  Evaluation operator()(std::span<const void* const> params);

 private:
  struct Batch {
    std::int64_t size;
    Workspace workspace;
  };
  Batch& batch_of(std::int64_t size);

  Function model_;
  Dataset data_;
  ThreadPool* pool_;
  std::vector<Batch> batches_;
};

}  // namespace limpid::train
