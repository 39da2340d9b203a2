// Trainer: the loop over compiled steps, for any Problem. Leans on step.h, evaluator.h and
// events.h.
//
//   Trainer trainer(mlp_problem(net), data, {.epochs = 10}, &pool);
//   while (trainer.ending() == Ending::kNone) trainer.step();
//   save_model("model.safetensors", {problem.inference, trainer.model(), net.config()});
//
// A step is a pure function of (state, batch, key, rate), and the state is all there is: a run that
// goes on from a state() gives the bits of one that was never interrupted.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "limpid/compile/executable.h"
#include "limpid/compile/plan_store.h"
#include "limpid/data/dataset.h"
#include "limpid/distribute/communicator.h"
#include "limpid/optim/schedule.h"
#include "limpid/train/buffers.h"
#include "limpid/train/cut.h"
#include "limpid/train/evaluator.h"
#include "limpid/train/events.h"
#include "limpid/train/feeder.h"
#include "limpid/train/problem.h"
#include "limpid/train/sharded_update.h"
#include "limpid/train/step.h"

namespace limpid::train {

// Training ends where `patience` epochs brought no better metric, and the best weights are kept. An
// epoch is better where the metric is, by more than min_delta.
struct EarlyStopping {
  std::int64_t patience = 5;
  double min_delta = 0;
};

// Of TrainOptions::shards.
inline constexpr std::int64_t kMostShards = 65536;

// How a run goes.
struct TrainOptions {
  std::int64_t epochs = 10;
  std::optional<std::int64_t> steps = {};  // updates of the run; with it `epochs` does not count
  std::int64_t batch = 128;     // examples of a (micro) batch; the last of an epoch may have fewer
  std::int64_t accumulate = 1;  // micro batches of an update; the last of an epoch may have fewer
  // Parts of an update's rows whose gradients are added by a tree (docs/arithmetic.md, "Shards").
  std::int64_t shards = 1;
  std::int64_t hash_shards_every = 0;  // steps between those whose shards are hashed; 0: never
  optim::Schedule schedule{.kind = optim::Schedule::Kind::kLinear,
                           .rate = 0.05};  // steps: the run's
  UpdateRule rule = {};
  std::uint64_t seed = 0;       // of the first weights, the order and the dropout
  std::string metric = "loss";  // of the validation part: which epoch is the best
  std::optional<EarlyStopping> early_stopping = {};
  bool check_finite =
      false;  // look at every parameter after every step, not at loss and norm alone
  bool gather_ahead = false;  // a thread gathers the next batch during a step; the same bits
};

// Everything that a run needs to go on.
struct TrainState {
  std::uint64_t seed = 0;
  std::int64_t step = 0;  // updates done
  Params params, carried, optimizer;
  // Sums over the steps of the epoch under way.
  double loss_sum = 0;  // of loss * examples
  double gradient_norm_sum = 0;
  std::int64_t best_epoch = 0;  // counted from 1; 0 before the first
  double best_score = 0;        // its metric
  Params best;                  // its parameters and what is carried, with early stopping alone
};

// Why no step follows; kNone while one does.
enum class Ending : std::uint8_t { kNone, kFinished, kEarlyStopping, kNonFinite };
// "", "finished", "early stopping", "non-finite loss".
std::string_view name(Ending ending);

// What happened in a step.
struct StepResult {
  StepEvent step;
  std::uint32_t wishes = 0;              // of all ranks
  std::optional<EpochEvent> epoch = {};  // where the step was the last of an epoch or of the run
};

class Trainer {
 public:
  // `data`, the pool and the ranks must outlive the trainer. With ranks each of them makes a
  // Trainer of the same arguments and then the same calls; there are at most as many as shards.
  // Throws kInvalidArgument, kShape or kDtype where options or data do not fit the problem.
  Trainer(Problem problem, const Split& data, const TrainOptions& options,
          ThreadPool* pool = nullptr, distribute::Communicator* ranks = nullptr);
  Trainer(Problem problem, const Split&& data, const TrainOptions& options,
          ThreadPool* pool = nullptr, distribute::Communicator* ranks = nullptr) = delete;
  // Its parts hold pointers to each other.
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // One update, and behind the last one of an epoch, or of the run, the evaluation on the
  // validation part (the test part where there is none, which then is never called the best). Where
  // the loss or the norm of the gradient is not finite, the update is not made: the state stays
  // what it was before, and the training ends. Wishes are bits that all ranks then know: the result
  // has those of each.
  StepResult step(std::uint32_t wishes = 0);

  Ending ending() const { return ending_; }
  std::int64_t steps_done() const { return step_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t steps_an_epoch() const { return steps_an_epoch_; }
  std::int64_t epochs() const { return epochs_done(steps_); }   // one that the end cuts short, too
  double learning_rate() const { return schedule_.at(step_); }  // of the next step
  std::int64_t best_epoch() const { return best_epoch_; }       // 0 before the first

  // All that the next step depends on; a copy. With ranks each of them calls it, and the first one
  // gets all; the others only their part of the optimiser's state.
  TrainState state() const;
  // Goes on from a state of a run with the same problem, data and options. Throws kFormat where it
  // is none.
  void restore(const TrainState& state);

  // What the problem's inference takes beside the data: the best with early stopping, else the
  // last.
  Params model() const;
  const Problem& problem() const { return problem_; }

  // Where a Probe of loss_function finds what the last step saw and made: the inputs of the loss
  // (of the last micro batch of the update's first shard, which the first rank has) and the
  // parameters after the step. Good until the next step.
  std::vector<const void*> observed() const;
  std::int64_t observed_rows() const { return last_.batch.rows; }

  // The Function that was run last, and what went into it: a step that ended with kNonFinite can be
  // repeated op by op.
  struct Replay {
    Function function;
    std::vector<Tensor> inputs;
  };
  Replay replay() const;

  // Of the next step: that of a shard's gradient and loss, as StepEvent::shards has it; the step is
  // not made. Throws kInvalidArgument where there is no such shard, or only one.
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
  // What the last plan was run on, beside the state.
  struct Last {
    Plan* plan = nullptr;
    Feeder::Batch batch;
    std::int64_t key = 0;
    float share = 0, rate = 0;
  };

  void check() const;
  std::int64_t epochs_done(std::int64_t step) const;
  std::int64_t examples_of_update() const;
  Update update(float rate);
  Update sharded_update(float rate, std::uint32_t wishes);
  std::uint64_t add_shard(std::int64_t shard, const Update& update, bool hashed);
  std::optional<Feeder::Piece> next_piece();
  void run(Part part, Update& result);
  Plan& plan_of(Part part, std::int64_t rows);
  Key key_of(std::int64_t micro_batch) const;
  EpochEvent end_epoch();
  void compare(EpochEvent& epoch);
  void start_feeder();
  void feed(Feeder::Pieces pieces);
  std::vector<const void*> model_pointers() const;

  Problem problem_;
  const Split& data_;
  TrainOptions options_;
  ThreadPool* pool_;
  Key key_;
  Cut cut_;
  std::int64_t steps_an_epoch_ = 0;
  std::int64_t steps_ = 0;  // of the run
  optim::Schedule schedule_;

  // The state.
  std::int64_t step_ = 0;
  Buffers params_, carried_;
  Buffers carried_before_;     // an update of several micro batches, or what a shard has of it
  std::vector<bool> changes_;  // which of the carried values a step changes
  std::unique_ptr<ShardedUpdate> sharded_;  // with several shards
  Buffers optimizer_;                       // with several ranks this one's part
  Buffers sums_;                            // over the micro batches of the update under way
  double loss_sum_ = 0;
  double gradient_norm_sum_ = 0;
  std::int64_t best_epoch_ = 0;
  double best_score_ = 0;
  Params best_;
  Ending ending_ = Ending::kNone;

  PlanStore<std::pair<Part, std::int64_t>, Plan> plans_;  // by rows
  std::unique_ptr<Feeder> feeder_;
  // What the feeder gathers next.
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
