// Trainer: the training loop over compiled steps, for any Problem. Depends on step.h, evaluator.h
// and events.h.
//
//   Trainer trainer(mlp_problem(net), data, {.epochs = 10}, &pool);
//   while (trainer.ending() == Ending::kNone) trainer.step();
//   save_model("model.safetensors", {problem.inference, trainer.model(), net.config()});
//
// A step is a pure function of (state, batch, key, rate). There is no other state: a run that is
// restored from state() gives the same bits as an uninterrupted one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "limpid/compile/executable.h"
#include "limpid/compile/plan_store.h"
#include "limpid/core/enum_names.h"
#include "limpid/data/augment.h"
#include "limpid/data/dataset.h"
#include "limpid/distribute/communicator.h"
#include "limpid/optim/schedule.h"
#include "limpid/train/log/events.h"
#include "limpid/train/loop/batch_plan.h"
#include "limpid/train/loop/buffers.h"
#include "limpid/train/loop/evaluator.h"
#include "limpid/train/loop/prefetching_loader.h"
#include "limpid/train/loop/problem.h"
#include "limpid/train/loop/sharded_update.h"
#include "limpid/train/loop/step.h"

namespace limpid::train {

// Early stopping: training ends after `patience` epochs without a better metric, and the best
// parameters are kept. An epoch is better if it improves the metric by more than min_delta.
struct EarlyStopping {
  std::int64_t patience = 5;
  double min_delta = 0;
};

// The maximum of TrainOptions::shards.
inline constexpr std::int64_t kMostShards = 65536;

// Options of training.
struct TrainOptions {
  std::int64_t epochs = 10;
  std::optional<std::int64_t> steps = {};  // updates of the run; replaces `epochs`
  std::int64_t batch = 128;     // examples of a (micro-)batch; the last of an epoch may have fewer
  std::int64_t accumulate = 1;  // micro-batches per update; the last of an epoch may have fewer
  // Shards of an update's rows; their gradients are added in a tree (docs/arithmetic.md, "Shards").
  std::int64_t shards = 1;
  std::int64_t hash_shards_every = 0;  // hash the shards of every n-th step; 0: never
  // With ranks: whether each updates a part of the parameters, or all of them; the bits are the
  // same. Default: a part, unless the model is so small that messages take longer.
  std::optional<bool> divided_update = {};
  optim::Schedule schedule{.kind = optim::Schedule::Kind::kLinear,
                           .rate = 0.05};  // steps: the run's
  UpdateRule rule = {};
  std::uint64_t seed = 0;       // of initial weights, shuffling and dropout
  std::string metric = "loss";  // validation metric that selects the best epoch
  std::optional<EarlyStopping> early_stopping = {};
  bool check_finite = false;  // check every parameter after every step, not only loss and norm
  // Layers of a segment whose activations are computed again in the backward pass instead of being
  // kept (GradOptions::recompute); 0: all are kept. The bits are the same.
  std::int64_t recompute = 0;
  // Decay of an exponential moving average of the parameters and the non-trainable values, which is
  // then the model that is evaluated and kept (Polyak averaging); 0: the last values are. After n
  // updates the decay is at most (1 + n) / (10 + n), so that the first steps count less.
  double ema = 0;
  bool gather_ahead = false;       // a thread gathers the next batch during a step
  Augmentation augmentation = {};  // of the training set's pictures, drawn by augment_key(seed)
};

// The key of a run's augmentation: row r of the training set is drawn in epoch e, from 0, by
// augment_key(seed).fold_in(e).fold_in(r).
Key augment_key(std::uint64_t seed);

// The complete state of a run, to resume from.
struct TrainState {
  std::uint64_t seed = 0;
  std::int64_t step = 0;  // updates done
  Params params, non_trainable, optimizer;
  // Sums over the steps of the current epoch.
  double loss_sum = 0;  // of loss * examples
  double gradient_norm_sum = 0;
  std::int64_t best_epoch = 0;  // counted from 1; 0 before the first
  double best_score = 0;        // its metric
  Params best;                  // its parameters and non-trainable state; only with early stopping
  Params average;  // of parameters and non-trainable state; only with TrainOptions::ema
};

// Why training ended; kNone while it goes on.
enum class Ending : std::uint8_t { kNone, kFinished, kEarlyStopping, kNonFinite };
// "", "finished", "early stopping", "non-finite loss".
constexpr EnumNames<4> enum_names(Ending) {
  return {"ending", {"", "finished", "early stopping", "non-finite loss"}};
}

// The result of a step.
struct StepResult {
  StepEvent step;
  std::uint32_t wishes = 0;              // of all ranks
  std::optional<EpochEvent> epoch = {};  // if the step was the last of an epoch or of the run
};

class Trainer {
 public:
  // `data`, the pool and the ranks must outlive the trainer. With ranks, every rank constructs a
  // Trainer with the same arguments and makes the same calls; there can be at most as many ranks as
  // shards. Throws kInvalidArgument, kShape or kDtype if options or data do not match the problem.
  Trainer(Problem problem, const Split& data, const TrainOptions& options,
          ThreadPool* pool = nullptr, distribute::Communicator* ranks = nullptr);
  Trainer(Problem problem, const Split&& data, const TrainOptions& options,
          ThreadPool* pool = nullptr, distribute::Communicator* ranks = nullptr) = delete;
  // Not copyable: members hold pointers to each other.
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // One update. After the last update of an epoch, or of the run, also evaluates on the validation
  // set (without one, on the test set, and then no epoch is called the best). If the loss or the
  // gradient norm is not finite, the update is not made: the state stays as before, and training
  // ends. `wishes` returns bits that are combined over all ranks: the result has the bits that any
  // rank set. It is called once, after this rank has computed the gradients of its shards.
  using Wishes = std::function<std::uint32_t()>;
  StepResult step(const Wishes& wishes = {});

  Ending ending() const { return ending_; }
  std::int64_t steps_done() const { return step_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t steps_an_epoch() const { return steps_an_epoch_; }
  std::int64_t epochs() const { return epochs_done(steps_); }   // including a partial last one
  double learning_rate() const { return schedule_.at(step_); }  // of the next step
  std::int64_t best_epoch() const { return best_epoch_; }       // 0 before the first

  // A copy of the complete state. With ranks, every rank must call it; the first rank gets the
  // whole state, the others only their part of the optimiser state.
  TrainState state() const;
  // Restores a state of a run with the same problem, data and options. Throws kFormat if the state
  // does not match.
  void restore(const TrainState& state);

  // The inputs of the problem's inference, except the data: of the best epoch with early stopping,
  // else the last ones; their averages with TrainOptions::ema.
  Params model() const;
  const Problem& problem() const { return problem_; }

  // The inputs of a Probe for the last step: the inputs of the loss (for the last micro-batch of
  // the update's first shard, which the first rank has) and the parameters after the step. Valid
  // until the next step. Throws kInvalidArgument before a step.
  std::vector<const void*> observed() const;
  std::int64_t observed_rows() const { return last_.batch.rows; }

  // A Function of the last step and its inputs, to replay a step that ended with kNonFinite op by
  // op: of the first micro-batch of this rank with a loss or a gradient that is not finite, or of
  // the last one if all are. Throws kInvalidArgument before a step.
  struct Replay {
    Function function;
    std::vector<Tensor> inputs;
  };
  Replay replay();

  // The hash of a shard's gradient and loss in the next step, as in StepEvent::shards. Does not
  // make the step. Throws kInvalidArgument if there is no such shard, or only one shard.
  std::uint64_t hash_of_shard(std::int64_t shard);

 private:
  enum class Part : std::uint8_t { kWhole, kAccumulate, kLast };
  struct Plan {
    Function function;
    Workspace workspace;
  };
  struct Update {
    float loss = 0;
    float gradient_norm = 0;
    std::int64_t examples = 0;
    std::uint32_t wishes = 0;
    std::vector<std::uint64_t> hashes = {};  // of the shards
  };
  // The inputs of the last plan, besides the state.
  struct Last {
    Plan* plan = nullptr;
    PrefetchingLoader::Batch batch;
    std::int64_t key = 0;
    float share = 0, rate = 0;
  };

  void check() const;
  std::int64_t epochs_done(std::int64_t step) const;
  std::int64_t examples_of_update() const;
  // How far the micro-batches of an update are run.
  enum class Until : std::uint8_t { kEnd, kNonFinite };
  Update update(float rate, const Wishes& wishes, Until until = Until::kEnd);
  Update sharded_update(float rate, const Wishes& wishes);
  float* gradient_of_shard(std::int64_t shard, const Update& update, Until until = Until::kEnd);
  bool is_finite(const float* gradient) const;
  std::uint64_t hash_of_gradient(const float* gradient) const;
  std::optional<PrefetchingLoader::Piece> next_piece();
  void run(Part part, Update& result);
  Plan& plan_of(Part part, std::int64_t rows);
  Key key_of(std::int64_t micro_batch) const;
  EpochEvent end_epoch();
  void compare(EpochEvent& epoch);
  bool has_lost_best() const;
  void start_loader();
  void feed_shard(std::int64_t shard);
  void feed(PrefetchingLoader::Pieces pieces);
  void forget_last_step();
  Replay replay_of_last_run() const;
  void update_average();
  Params last_model() const;
  std::vector<const void*> model_pointers() const;

  Problem problem_;
  const Split& data_;
  TrainOptions options_;
  ThreadPool* pool_;
  Key key_;
  BatchPlan batches_;
  std::int64_t steps_an_epoch_ = 0;
  std::int64_t steps_ = 0;  // of the run
  optim::Schedule schedule_;

  // The state.
  std::int64_t step_ = 0;
  Buffers params_, non_trainable_;
  Buffers non_trainable_before_;  // before an update of several micro-batches, or before a shard
  std::vector<bool> changes_;     // which non-trainable values a step changes
  std::unique_ptr<ShardedUpdate> sharded_;  // with several shards
  Buffers optimizer_;                       // with several ranks, this rank's part
  Buffers sums_;                            // over the micro-batches of the current update
  Buffers average_;                         // of parameters, then non-trainable values
  double loss_sum_ = 0;
  double gradient_norm_sum_ = 0;
  std::int64_t best_epoch_ = 0;
  double best_score_ = 0;
  Params best_;
  Ending ending_ = Ending::kNone;

  PlanStore<std::pair<Part, std::int64_t>, Plan> plans_;  // by rows
  std::unique_ptr<PrefetchingLoader> loader_;
  // The micro-batch that the loader gathers next.
  struct Fed {
    std::int64_t step = 0, shard = 0, micro_batch = 0;
  } fed_;
  std::optional<Evaluator> evaluator_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  Last last_;
  std::int64_t timed_examples_ = 0;  // of the epoch, since the trainer was made or restored
  std::chrono::duration<double> time_{};
};

}  // namespace limpid::train
