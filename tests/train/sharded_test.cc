// Shards and ranks: the update is the documented sum, and any number of ranks makes the same one.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/distribute/in_process.h"
#include "limpid/function/interpret.h"
#include "limpid/inspect/op_example.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/trainer.h"
#include "limpid/train/run/checkpoint.h"
#include "limpid/transforms/grad.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

using distribute::Communicator;

constexpr std::int64_t kInputs = 6;

// Classes by the first two features, or numbers.
Dataset drawn(Task task, std::int64_t rows, std::uint64_t seed) {
  Dataset data;
  data.name = "drawn";
  data.task = task;
  data.inputs = random_tensor({Dtype::kF32, {rows, kInputs}}, Key(seed), -1, 1);
  const auto x = data.inputs.values<float>();
  if (task == Task::kClassification) {
    data.classes = 2;
    data.targets = Tensor::generate<std::int32_t>({rows}, [&](std::span<std::int32_t> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[i * kInputs] > x[i * kInputs + 1];
    });
  } else {
    data.targets = random_tensor({Dtype::kF32, {rows, 2}}, Key(seed + 100), -2, 2);
  }
  return data;
}

Split drawn_split(Task task, std::int64_t rows = 45) {
  return {drawn(task, rows, 1), drawn(task, 20, 2), drawn(task, 20, 3)};
}

// All bits of a state, and of the model.
std::uint64_t hash_of(const Trainer& trainer, const TrainState& state) {
  std::uint64_t h = 0;
  for (const Params& params :
       {state.params, state.non_trainable, state.optimizer, state.best, trainer.model()})
    for (const auto& [name, value] : params) h = limpid::hash(value.bytes(), h);
  const double numbers[] = {state.loss_sum, state.gradient_norm_sum, state.best_score};
  return limpid::hash(std::as_bytes(std::span(numbers)), h);
}

// The result of a training run: the hash of its end, and every step.
struct Trained {
  std::uint64_t hash = 0;
  std::vector<double> losses, norms;
  std::vector<std::vector<std::string>> shards;

  bool operator==(const Trained&) const = default;
};

// With `count` ranks up to step `change`, then with `then` ranks.
Trained trained(const Problem& problem, const Split& data, const TrainOptions& options, int count,
                std::int64_t change = 0, int then = 1, ThreadPool* pool = nullptr) {
  Trained result;
  TrainState state;
  std::mutex mutex;
  const auto part = [&](Communicator* ranks, bool first) {
    Trainer trainer(problem, data, options, pool, ranks);
    if (!first) trainer.restore(state);
    while (trainer.ending() == Ending::kNone && !(first && trainer.steps_done() == change)) {
      const StepResult step = trainer.step();
      if (ranks && ranks->rank() > 0) continue;
      result.losses.push_back(step.step.loss);
      result.norms.push_back(step.step.gradient_norm);
      result.shards.push_back(step.step.shards);
    }
    const TrainState now = trainer.state();
    if (ranks && ranks->rank() > 0) return;
    const std::lock_guard lock(mutex);
    if (first)
      state = now;
    else
      result.hash = hash_of(trainer, now);
  };
  const auto run = [&](int ranks, bool first) {
    if (ranks == 0)
      part(nullptr, first);
    else
      distribute::run_in_process(ranks, [&](Communicator& c) { part(&c, first); });
  };
  run(count, true);
  run(then, false);
  return result;
}

// With the same ranks from the first step to the last.
Trained trained_by(const Problem& problem, const Split& data, const TrainOptions& options,
                   int ranks, ThreadPool* pool = nullptr) {
  return trained(problem, data, options, ranks, 0, ranks, pool);
}

TrainOptions with_everything(std::int64_t shards) {
  return {.epochs = 3,
          .batch = 11,
          .accumulate = 2,
          .shards = shards,
          .hash_shards_every = 1,
          .schedule = {.kind = optim::Schedule::Kind::kCosine, .rate = 0.02, .warmup = 3},
          .rule = {optim::AdamW{}, {.value = 0.05, .norm = 0.1}},
          .seed = 9,
          .early_stopping = EarlyStopping{.patience = 3}};
}

// ---- the definition, by the interpreter

TEST(Shards, TheUpdateIsTheDocumentedSum) {
  constexpr std::int64_t kRows = 11, kShards = 3;
  constexpr float kRate = 0.25f;
  const Problem problem = mlp_problem(nn::mlp({kInputs, 5, 2}, relu, 0.4), Task::kRegression);
  const Split data = {drawn(Task::kRegression, kRows, 1), {}, {}};
  Trainer trainer(problem, data,
                  {.epochs = 1,
                   .batch = kRows,
                   .shards = kShards,
                   .schedule = {.rate = kRate},
                   .rule = {optim::Sgd{.momentum = 0}},
                   .seed = 4});
  const Params before = trainer.state().params;
  const StepResult step = trainer.step();

  // Rows [0, 4), [4, 8), [8, 11) of the epoch's order.
  const std::vector<std::int32_t> order = permutation(Key(4).fold_in(1).fold_in(0), kRows);
  const std::int64_t begins[] = {0, 4, 8, 11};
  std::vector<std::vector<float>> sums[kShards];  // of a shard: each parameter, then the loss
  for (std::size_t s = 0; s < kShards; ++s) {
    const std::span<const std::int32_t> rows(order.data() + begins[s],
                                             order.data() + begins[s + 1]);
    const auto count = static_cast<std::int64_t>(rows.size());
    const Key dropout = Key(4).fold_in(2).fold_in(0).fold_in(s);
    std::vector<Tensor> inputs = before.values();
    inputs.insert(inputs.end(),
                  {gather_rows(data.train.inputs, rows), gather_rows(data.train.targets, rows),
                   Tensor::scalar(static_cast<std::int64_t>(dropout.bits()))});
    std::vector<Tensor> results =
        interpret(value_and_grad(loss_function(problem, count), {0, 1, 2, 3}), inputs);
    std::rotate(results.begin(), results.begin() + 1, results.end());  // the loss last
    const float share = static_cast<float>(static_cast<double>(count) / 11.0);
    for (const Tensor& r : results) {
      std::vector<float>& sum = sums[s].emplace_back();
      for (const float g : r.values<float>()) sum.push_back(0.0f + g * share);
    }
  }
  float squares_of_all = 0;
  for (std::size_t p = 0; p < 4; ++p) {
    const auto was = before.values()[p].values<float>();
    const Params after = trainer.state().params;
    const auto is = after.values()[p].values<float>();
    std::vector<float> squares;
    for (std::size_t i = 0; i < was.size(); ++i) {
      const float gradient = (sums[0][p][i] + sums[1][p][i]) + sums[2][p][i];
      ASSERT_EQ(is[i], was[i] - kRate * gradient);
      squares.push_back(gradient * gradient);
    }
    squares_of_all += arithmetic::sum(squares);
  }
  EXPECT_EQ(static_cast<float>(step.step.loss), (sums[0][4][0] + sums[1][4][0]) + sums[2][4][0]);
  EXPECT_EQ(static_cast<float>(step.step.gradient_norm), std::sqrt(squares_of_all));
}

TEST(Shards, TheSumIsThatOfOneBatchButForRounding) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 9, 2}, relu));
  Trainer whole(problem, data, {.epochs = 2, .batch = 20});
  Trainer parts(problem, data, {.epochs = 2, .batch = 20, .shards = 7});
  Trainer both(problem, data, {.epochs = 2, .batch = 5, .accumulate = 4, .shards = 3});
  while (whole.ending() == Ending::kNone) {
    const StepEvent a = whole.step().step;
    for (Trainer* other : {&parts, &both}) {
      const StepEvent b = other->step().step;
      EXPECT_NEAR(a.loss, b.loss, 1e-5);
      EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-5);
    }
  }
  EXPECT_EQ(both.ending(), Ending::kFinished);
}

TEST(Shards, TheNormIsThatOfTheGradientBeforeItsValuesAreClipped) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 9, 2}, relu));
  TrainOptions options{.batch = 20, .shards = 3};
  const StepEvent free = Trainer(problem, data, options).step().step;
  options.rule.clip.value = 1e-3;
  const StepEvent clipped = Trainer(problem, data, options).step().step;
  EXPECT_EQ(clipped.gradient_norm, free.gradient_norm);
}

// Pieces of matrices decay as whole ones do, and vectors do not.
TEST(Shards, WhatDecaysIsThatOfOneBatch) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 9, 2}, relu));
  TrainOptions options{.steps = 5,
                       .batch = 20,
                       .schedule = {.rate = 0.1},
                       .rule = {optim::Sgd{.weight_decay = 0.5}}};
  optim::set_number(options.rule.optimizer, "decay_vectors", 0);
  Trainer whole(problem, data, options);
  options.shards = 3;
  Trainer parts(problem, data, options);
  while (whole.ending() == Ending::kNone) whole.step(), parts.step();
  for (const auto& [name, tensor] : whole.state().params) {
    const auto values = tensor.values<float>();
    const Tensor other = parts.state().params.at(name);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(other.values<float>()[i], values[i], 1e-5) << name;
  }
}

// The running mean of all rows is that of the shards' means, by their rows: 4, 4 and 3 here.
TEST(Shards, RunningMeansCountEachRowOnce) {
  const Split data = drawn_split(Task::kClassification);
  nn::Mlp net = nn::mlp({kInputs, 9, 2}, relu);
  net.norm = nn::MlpNorm::kBatch;
  const Problem problem = mlp_problem(net);
  Trainer whole(problem, data, {.epochs = 1, .batch = 11});
  Trainer parts(problem, data, {.epochs = 1, .batch = 11, .shards = 3});
  whole.step();
  parts.step();
  int means = 0, variances = 0;
  for (const auto& [name, tensor] : whole.state().non_trainable) {
    const bool mean = name.ends_with("running_mean");
    if (!mean && !name.ends_with("running_var")) continue;
    (mean ? means : variances) += 9;
    const auto other = parts.state().non_trainable.at(name);
    // The mean of the shards' variances is near that of all rows.
    for (std::size_t i = 0; i < 9; ++i)
      EXPECT_NEAR(tensor.values<float>()[i], other.values<float>()[i], mean ? 1e-6 : 0.1) << name;
  }
  EXPECT_EQ(means, 9);
  EXPECT_EQ(variances, 9);
}

TEST(Shards, AreHashedInTheFirstStepAndInEveryNth) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 3, 2}, relu));
  Trainer trainer(problem, data, {.steps = 7, .batch = 9, .shards = 2, .hash_shards_every = 3});
  std::vector<std::int64_t> hashed;
  while (trainer.ending() == Ending::kNone)
    if (const StepEvent step = trainer.step().step; !step.shards.empty())
      hashed.push_back(step.step);
  EXPECT_EQ(hashed, (std::vector<std::int64_t>{1, 3, 6}));
}

// Asking for a hash changes nothing.
TEST(Shards, AreHashedOutsideOfAStepToo) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 3, 2}, relu, 0.4));
  const TrainOptions options{.steps = 2, .batch = 9, .shards = 2, .hash_shards_every = 1};
  Trainer alone(problem, data, options), asked(problem, data, options);
  while (alone.ending() == Ending::kNone) {
    const std::uint64_t second = asked.hash_of_shard(1);
    const StepEvent step = alone.step().step;
    EXPECT_EQ(second, std::stoull(step.shards.at(1), nullptr, 16));
    EXPECT_EQ(asked.step().step.shards, step.shards);
  }
  EXPECT_EQ(hash_of(asked, asked.state()), hash_of(alone, alone.state()));
}

// Absolute errors pull with the same force from any distance, so the gradients are equal.
TEST(Shards, AreHashedWithTheirLoss) {
  Split data = drawn_split(Task::kRegression);
  const Problem problem =
      mlp_problem(nn::mlp({kInputs, 2}, relu), Task::kRegression, Loss{.kind = Loss::Kind::kMae});
  const TrainOptions options{.batch = 9, .shards = 2, .hash_shards_every = 1};
  std::vector<StepEvent> steps;
  for (const float target : {100.0f, 200.0f}) {
    data.train.targets = Tensor::generate<float>(
        {45, 2}, [&](std::span<float> out) { std::fill(out.begin(), out.end(), target); });
    steps.push_back(Trainer(problem, data, options).step().step);
  }
  EXPECT_EQ(steps[0].gradient_norm, steps[1].gradient_norm);
  for (std::size_t shard = 0; shard < 2; ++shard)
    EXPECT_NE(steps[0].shards.at(shard), steps[1].shards.at(shard));
}

// ---- any number of ranks

TEST(Shards, AnyNumberOfRanksGivesTheSameBits) {
  const Split data = drawn_split(Task::kClassification);
  nn::Mlp net = nn::mlp({kInputs, 70, 70, 2}, relu, 0.2);  // a parameter of more than a block
  const Problem problem = mlp_problem(net);
  for (const std::int64_t shards : {2, 5, 16}) {
    const Trained alone = trained_by(problem, data, with_everything(shards), 0);
    ASSERT_EQ(alone.shards.at(0).size(), static_cast<std::size_t>(shards));
    for (const int ranks : {1, 2, 3, 4, 5, 8, 16})
      if (ranks <= shards) {
        EXPECT_EQ(trained_by(problem, data, with_everything(shards), ranks), alone)
            << shards << " shards, " << ranks << " ranks";
      }
    ThreadPool pool({.threads = 3});
    TrainOptions ahead = with_everything(shards);
    ahead.gather_ahead = true;
    EXPECT_EQ(trained_by(problem, data, ahead, 0, &pool), alone);
  }
}

// State, model and evaluations, by ranks in process; tests/bits runs it as an AArch64 program.
TEST(Shards, EveryMachineGivesTheseBits) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 70, 70, 2}, gelu, 0.2));
  for (const int ranks : {0, 1, 2, 3, 5})
    EXPECT_EQ(trained_by(problem, data, with_everything(5), ranks).hash, 0x76e2202c27998c52U)
        << ranks << " ranks";
}

TEST(Shards, ARunGoesOnWithOtherRanks) {
  const Split data = drawn_split(Task::kClassification);
  nn::Mlp net = nn::mlp({kInputs, 70, 2}, relu, 0.2);
  net.norm = nn::MlpNorm::kBatch;
  const Problem problem = mlp_problem(net);
  TrainOptions options = with_everything(4);
  options.batch = 15;
  const Trained alone = trained_by(problem, data, options, 0);
  for (std::int64_t step = 0; step < 5; ++step)
    for (const auto& [before, after] : {std::pair{3, 2}, {1, 4}, {4, 0}, {0, 3}})
      EXPECT_EQ(trained(problem, data, options, before, step, after), alone)
          << before << " ranks up to step " << step << ", then " << after;
}

// Random networks, recipes, shards and ranks.
TEST(Shards, LawOfRandomModels) {
  const optim::Optimizer optimizers[] = {optim::Sgd{.momentum = 0.9, .nesterov = true},
                                         optim::Sgd{.momentum = 0, .weight_decay = 0.1},
                                         optim::Adam{.amsgrad = true},
                                         optim::AdamW{.decay_vectors = false},
                                         optim::RmsProp{},
                                         optim::Adagrad{}};
  for (std::uint64_t i = 0; i < 24; ++i) {
    const Key key = Key(77).fold_in(i);
    const auto below = [&](std::uint64_t bound, std::uint64_t n) {
      return static_cast<std::int64_t>(key.below(bound, n));
    };
    const Task task = below(2, 0) ? Task::kRegression : Task::kClassification;
    const Split data = drawn_split(task, 20 + below(40, 1));
    nn::Mlp net = nn::mlp({kInputs, 1 + below(90, 2), 1 + below(90, 3), 2},
                          below(2, 4) ? relu : gelu, below(2, 5) ? 0.3 : 0.0);
    const nn::MlpNorm norms[] = {nn::MlpNorm::kNone, nn::MlpNorm::kLayer, nn::MlpNorm::kRms};
    net.norm = norms[below(3, 6)];
    TrainOptions options{.epochs = 2,
                         .batch = 3 + below(20, 7),
                         .accumulate = 1 + below(3, 8),
                         .shards = 2 + below(17, 9),
                         .schedule = {.rate = 0.01},
                         .rule = {optimizers[below(6, 10)], {}},
                         .seed = i};
    if (below(2, 11)) options.rule.clip.norm = 0.3;
    if (below(3, 12) == 0) options.rule.clip.value = 0.02;
    options.check_finite = below(2, 13) == 1;
    const Problem problem = mlp_problem(net, task);
    const int ranks =
        1 + static_cast<int>(
                below(static_cast<std::uint64_t>(std::min<std::int64_t>(options.shards, 9)), 14));
    EXPECT_EQ(trained_by(problem, data, options, ranks), trained_by(problem, data, options, 0))
        << "trial " << i << ": " << options.shards << " shards, " << ranks << " ranks";
  }
}

// ---- what each rank has, knows and refuses

// Small models are not divided, unless that is asked for.
TEST(Shards, DividedUpdatesAndWholeOnesAreTheSame) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 70, 70, 2}, relu, 0.2));
  for (const std::int64_t shards : {5, 8}) {
    TrainOptions options = with_everything(shards);
    const Trained alone = trained_by(problem, data, options, 0);
    for (const bool divided : {false, true}) {
      options.divided_update = divided;
      for (const int ranks : {2, 3, 5}) {
        EXPECT_EQ(trained_by(problem, data, options, ranks), alone)
            << shards << " shards, " << ranks << " ranks" << (divided ? ", divided" : "");
        EXPECT_EQ(trained(problem, data, options, ranks, 4, 5), alone);  // a checkpoint for others
      }
    }
  }
}

// The moments of "part.weight" end with the name of "weight" and have its shape, too.
TEST(Shards, MomentsAreOfTheParameterWithTheLongestName) {
  const Split data = drawn_split(Task::kRegression);
  const Type weight{Dtype::kF32, {kInputs, 2}};
  const auto sum = [](const Args& params, Value x) {
    return matmul(x, params.at("weight")) + matmul(tanh(x), params.at("part.weight"));
  };
  Problem problem = mlp_problem(nn::mlp({kInputs, 2}, relu), Task::kRegression);
  problem.inference =
      trace("sum", {{"weight", weight}, {"part.weight", weight}, {"x", {Dtype::kF32, {kInputs}}}},
            [&](std::span<const Value> in) {
              const Args params{{"weight", in[0]}, {"part.weight", in[1]}};
              return std::vector<Value>{reshape(sum(params, reshape(in[2], {1, kInputs})), {2})};
            });
  problem.init = [weight](Key key) {
    return Params{{"weight", random_tensor(weight, key.fold_in(0), -1, 1)},
                  {"part.weight", random_tensor(weight, key.fold_in(1), -1, 1)}};
  };
  problem.forward = [sum](const Args& params, const Args&, Value x, Value) {
    return Problem::Result{sum(params, x), {}};
  };
  TrainOptions options = with_everything(4);
  options.divided_update = true;
  const Trained alone = trained_by(problem, data, options, 0);
  EXPECT_EQ(trained_by(problem, data, options, 2), alone);
  EXPECT_EQ(trained(problem, data, options, 2, 4, 1), alone);
}

// MPI counts a message's bytes in an int, so larger ones are split: here, those above 1,000 bytes.
TEST(Shards, SplitMessagesChangeNothing) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 70, 70, 2}, relu, 0.2));
  for (const std::int64_t shards : {5, 8})
    for (const bool divided : {false, true}) {
      TrainOptions options = with_everything(shards);
      options.divided_update = divided;
      const Trained alone = trained_by(problem, data, options, 0);
      for (const int count : {2, 3, 4}) {
        std::uint64_t hash = 0;
        distribute::run_in_process(count, [&](Communicator& ranks) {
          ranks.set_most_bytes(1000);
          Trainer trainer(problem, data, options, nullptr, &ranks);
          while (trainer.ending() == Ending::kNone) trainer.step();
          const TrainState state = trainer.state();
          if (ranks.rank() == 0) hash = hash_of(trainer, state);
        });
        EXPECT_EQ(hash, alone.hash) << shards << " shards, " << count << " ranks";
      }
    }
}

TEST(Shards, EachRankKeepsItsPartOfTheMoments) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 300, 300, 2}, relu));
  const std::int64_t all = 2 * (6 * 300 + 300 + 300 * 300 + 300 + 300 * 2 + 2);
  distribute::run_in_process(4, [&](Communicator& ranks) {
    Trainer trainer(problem, data, {.shards = 8, .rule = {optim::Adam{}}}, nullptr, &ranks);
    trainer.step();
    std::int64_t mine = 0;
    for (const auto& [name, value] : trainer.state().optimizer) mine += value.elements();
    if (ranks.rank() == 0)
      EXPECT_EQ(mine, all + 2);  // gathered; and the powers
    else
      EXPECT_LE(mine, all / 4 + 2 * static_cast<std::int64_t>(arithmetic::kRowBlock) + 2);
  });
}

TEST(Shards, WishesReachEveryRank) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 4, 2}, relu));
  distribute::run_in_process(3, [&](Communicator& ranks) {
    Trainer trainer(problem, data, {.batch = 5, .shards = 3}, nullptr, &ranks);
    EXPECT_EQ(trainer.step().wishes, 0U);
    EXPECT_EQ(trainer.step([&] { return 1U << ranks.rank(); }).wishes, 7U);
    EXPECT_EQ(trainer.step().wishes, 0U);
  });
}

TEST(Shards, AStepThatIsNotFiniteEndsAllRanksBeforeIt) {
  const Split data = drawn_split(Task::kRegression);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 9, 2}, relu), Task::kRegression);
  const TrainOptions options{.epochs = 9, .batch = 5, .shards = 4, .schedule = {.rate = 1e4}};
  distribute::run_in_process(3, [&](Communicator& ranks) {
    Trainer trainer(problem, data, options, nullptr, &ranks);
    Params before = trainer.state().params;
    while (trainer.ending() == Ending::kNone) {
      before = trainer.state().params;
      trainer.step();
    }
    EXPECT_EQ(trainer.ending(), Ending::kNonFinite);
    for (const auto& [name, value] : trainer.state().params)
      EXPECT_TRUE(value.same_bits(before.at(name)));
  });
}

// One infinite square makes its parameter stand still: only the rank that keeps it can notice.
TEST(Shards, AMomentThatIsNotFiniteEndsTheRanksThatDoNotKeepIt) {
  const Split data = drawn_split(Task::kRegression);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 300, 2}, relu), Task::kRegression);
  const TrainOptions options{.batch = 5,
                             .shards = 4,
                             .divided_update = true,
                             .rule = {optim::Adam{}},
                             .check_finite = true};
  const TrainState first = Trainer(problem, data, options).state();
  for (const std::string name : {"exp_avg_sq.layers.0.weight", "exp_avg_sq.layers.1.weight"}) {
    TrainState state = first;
    std::vector<float> squares(static_cast<std::size_t>(state.optimizer.at(name).elements()));
    squares.back() = std::numeric_limits<float>::infinity();
    state.optimizer.set(name, Tensor::from(state.optimizer.at(name).type().shape, squares));
    distribute::run_in_process(3, [&](Communicator& ranks) {
      Trainer trainer(problem, data, options, nullptr, &ranks);
      trainer.restore(state);
      trainer.step();
      EXPECT_EQ(trainer.ending(), Ending::kNonFinite) << name << ", rank " << ranks.rank();
      EXPECT_EQ(trainer.steps_done(), 0) << name << ", rank " << ranks.rank();
    });
  }
}

TEST(Shards, RefusesWhatDoesNotFit) {
  const Split data = drawn_split(Task::kClassification);
  const Problem problem = mlp_problem(nn::mlp({kInputs, 4, 2}, relu));
  EXPECT_THROW(Trainer(problem, data, {.shards = 0}), Error);
  EXPECT_THROW(Trainer(problem, data, {.shards = kMostShards + 1}), Error);
  EXPECT_NO_THROW(Trainer(problem, data, {.shards = kMostShards}));
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    distribute::run_in_process(
        3, [&](Communicator& ranks) { Trainer(problem, data, {.shards = 2}, nullptr, &ranks); });
  });
}

TEST(Shards, RefuseNumbersThatAreNotAddedInF32) {
  const Split data = drawn_split(Task::kRegression);
  Problem problem;
  problem.task = Task::kRegression;
  problem.target = {Dtype::kF32, {2}};
  const auto scaled = [](const Value& scale, const Value& x, std::int64_t axis) {
    const Value y = slice(x, axis, 0, 2);
    return y * broadcast(cast(scale, Dtype::kF32), y.shape());
  };
  problem.inference =
      trace("scaled", {{"scale", {Dtype::kF64, {}}}, {"x", {Dtype::kF32, {kInputs}}}},
            [&](std::span<const Value> in) { return std::vector<Value>{scaled(in[0], in[1], 0)}; });
  problem.init = [](Key) { return Params{{"scale", Tensor::scalar(1.0)}}; };
  problem.forward = [&](const Args& params, const Args& non_trainable, const Value& x,
                        const Value&) {
    return Problem::Result{scaled(params.at("scale"), x, 1), non_trainable};
  };
  problem.losses = losses_in_scale({.kind = Loss::Kind::kMse});
  EXPECT_NO_THROW(Trainer(problem, data, {}));
  expect_refused(ErrorCode::kUnsupported, [&] { Trainer(problem, data, {.shards = 2}); });
}

// Of a value beside the parameters: only one that changes is added.
TEST(Shards, RefuseStatisticsThatAreNotAddedInF32) {
  const Split data = drawn_split(Task::kRegression);
  for (const bool changes : {true, false}) {
    Problem problem;
    problem.task = Task::kRegression;
    problem.target = {Dtype::kF32, {2}};
    problem.inference = trace(
        "weighted",
        {{"w", {Dtype::kF32, {2}}}, {"seen", {Dtype::kF64, {}}}, {"x", {Dtype::kF32, {kInputs}}}},
        [](std::span<const Value> in) {
          return std::vector<Value>{slice(in[2], 0, 0, 2) * in[0]};
        });
    problem.non_trainable = {{"seen", Tensor::scalar(0.0)}};
    problem.init = [](Key) { return Params{{"w", Tensor::zeros({Dtype::kF32, {2}})}}; };
    problem.forward = [changes](const Args& params, const Args& non_trainable, const Value& x,
                                const Value&) {
      const Value y = slice(x, 1, 0, 2);
      Args next = non_trainable;
      if (changes) next.set("seen", non_trainable.at("seen") + 1.0);
      return Problem::Result{y * broadcast(params.at("w"), y.shape()), next};
    };
    problem.losses = losses_in_scale({.kind = Loss::Kind::kMse});
    EXPECT_NO_THROW(Trainer(problem, data, {}));
    const auto shard = [&] { Trainer(problem, data, {.shards = 2}); };
    if (changes)
      expect_refused(ErrorCode::kUnsupported, shard);
    else
      shard();
  }
}

// The constants of standardisation are no sums, unlike the statistics beside them.
TEST(Shards, WhatNoStepChangesKeepsItsBits) {
  const Split data = drawn_split(Task::kRegression);
  nn::Mlp net = nn::mlp({kInputs, 9, 2}, relu);
  net.norm = nn::MlpNorm::kBatch;
  const Problem problem =
      mlp_problem(net, Task::kRegression, {}, fit_standardization(data.train, Scaling::kZScore));
  Trainer trainer(problem, data,
                  {.epochs = 2, .batch = 15, .shards = 3, .schedule = {.rate = 0.01}});
  while (trainer.ending() == Ending::kNone) trainer.step();
  std::size_t constants = 0;
  for (const auto& [name, value] : trainer.state().non_trainable) {
    constants += is_standardization(name) ? 1 : 0;
    EXPECT_EQ(value.same_bits(problem.non_trainable.at(name)), is_standardization(name)) << name;
  }
  EXPECT_EQ(constants, 4U);
}

}  // namespace
}  // namespace limpid::train
