// The trainer: what its steps compute, that a run can resume anywhere, and how it ends.
#include "limpid/train/loop/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>
#include <type_traits>

#ifdef __linux__
#include <unistd.h>
#endif

#include "limpid/core/error.h"
#include "limpid/function/interpret.h"
#include "limpid/inspect/op_example.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "tests/compile/count_allocations.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

constexpr std::int64_t kFeatures = 6;

Tensor uniform(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  return random_tensor({Dtype::kF32, shape}, Key(seed), low, high);
}

// The target: whether the first feature exceeds the second, or the numbers 100 + 10 x0 and x1 x2.
Dataset examples(Task task, std::int64_t rows, std::uint64_t seed) {
  Dataset data;
  data.inputs = uniform({rows, kFeatures}, seed);
  data.name = "examples";
  data.task = task;
  const auto x = data.inputs.values<float>();
  const auto at = [&](std::size_t row, std::size_t column) { return x[row * kFeatures + column]; };
  if (task == Task::kClassification) {
    data.classes = 2;
    data.targets = Tensor::generate<std::int32_t>({rows}, [&](std::span<std::int32_t> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(i, 0) > at(i, 1);
    });
  } else {
    data.targets = Tensor::generate<float>({rows, 2}, [&](std::span<float> out) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
        const bool labels = task == Task::kMultiLabel;
        out[2 * i] = labels ? static_cast<float>(at(i, 0) > 0) : 100 + 10 * at(i, 0);
        out[2 * i + 1] = labels ? static_cast<float>(at(i, 1) > 0) : at(i, 1) * at(i, 2);
      }
    });
  }
  return data;
}

Split split(Task task) {
  return {examples(task, 45, 1), examples(task, 20, 2), examples(task, 20, 3)};
}

nn::Mlp network(double dropout = 0.2) { return nn::mlp({kFeatures, 9, 2}, relu, dropout); }

void expect_same_params(const Params& a, const Params& b) {
  ASSERT_EQ(a.names(), b.names());
  for (const auto& [name, value] : a) EXPECT_TRUE(value.same_bits(b.at(name))) << name;
}

void expect_same_params(const TrainState& a, const TrainState& b) {
  EXPECT_EQ(a.step, b.step);
  expect_same_params(a.params, b.params);
  expect_same_params(a.non_trainable, b.non_trainable);
  expect_same_params(a.optimizer, b.optimizer);
  EXPECT_EQ(a.loss_sum, b.loss_sum);
  EXPECT_EQ(a.gradient_norm_sum, b.gradient_norm_sum);
  EXPECT_EQ(a.best_epoch, b.best_epoch);
  EXPECT_EQ(a.best_score, b.best_score);
  expect_same_params(a.best, b.best);
  expect_same_params(a.average, b.average);
}

void finish_training(Trainer& trainer) {
  while (trainer.ending() == Ending::kNone) trainer.step();
}

// ---- what a step computes

TEST(Step, AccumulationIsTheDocumentedSum) {
  const Problem problem = mlp_problem(network(), Task::kRegression);
  const Params params = problem.init(Key(4));
  constexpr std::int64_t kRows[] = {8, 8, 3};
  constexpr float kRate = 0.25f;
  Params sums;
  for (const Input& i : sum_inputs(problem)) sums.set(i.name, Tensor::zeros(i.type));
  Params expected = sums;  // added by hand
  std::vector<Tensor> last;
  for (std::uint64_t m = 0; m < 3; ++m) {
    const std::vector<Tensor> batch{
        uniform({kRows[m], kFeatures}, 10 + m), uniform({kRows[m], 2}, 20 + m),
        key_tensor(Key(30 + m)),
        Tensor::scalar(static_cast<float>(static_cast<double>(kRows[m]) / 19.0))};
    // By hand: loss and gradients of the micro batch, times its share.
    std::vector<Tensor> inputs = params.values();
    inputs.insert(inputs.end(), batch.begin(), batch.begin() + 3);
    const Function loss = loss_function(problem, kRows[m]);
    const std::vector<Tensor> results = interpret(value_and_grad(loss, {0, 1, 2, 3}), inputs);
    const float share = batch[3].item<float>();
    const auto add = [&](const std::string& sum, const Tensor& part) {
      const auto before = expected.at(sum).values<float>();
      expected.set(sum, Tensor::generate<float>(part.shape(), [&](std::span<float> out) {
                     for (std::size_t i = 0; i < out.size(); ++i)
                       out[i] = before[i] + part.values<float>()[i] * share;
                   }));
    };
    for (std::size_t p = 0; p < 4; ++p) add("accumulated." + params.names()[p], results[1 + p]);
    add("loss_sum", results[0]);

    inputs = params.values();
    for (const auto& [name, value] : sums) inputs.push_back(value);
    inputs.insert(inputs.end(), batch.begin(), batch.end());
    if (m < 2) {
      std::size_t i = 0;
      const std::vector<Tensor> next = interpret(accumulate_function(problem, kRows[m]), inputs);
      for (const std::string& name : sums.names()) sums.set(name, next[i++]);
      expect_same_params(sums, expected);
    } else {
      inputs.push_back(Tensor::scalar(kRate));
      last = interpret(accumulated_step_function(problem, {optim::Sgd{}}, kRows[m]), inputs);
    }
  }
  for (std::size_t p = 0; p < 4; ++p) {
    const std::string name = params.names()[p];
    const auto before = params.at(name).values<float>();
    const auto gradient = expected.at("accumulated." + name).values<float>();
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_EQ(last[p].values<float>()[i], before[i] - kRate * gradient[i]) << name << " " << i;
  }
  EXPECT_EQ(last[4].item<float>(), expected.at("loss_sum").item<float>());
}

TEST(Trainer, AccumulatesWhatOneLargeBatchGivesButForRounding) {
  const Split data = split(Task::kClassification);
  const Problem problem = mlp_problem(network(0));
  Trainer whole(problem, data, {.epochs = 2, .batch = 20});
  Trainer parts(problem, data, {.epochs = 2, .batch = 5, .accumulate = 4});
  EXPECT_EQ(whole.steps(), 6);
  EXPECT_EQ(parts.steps(), 6);
  while (whole.ending() == Ending::kNone) {
    const StepResult a = whole.step();
    const StepResult b = parts.step();
    EXPECT_NEAR(a.step.loss, b.step.loss, 1e-5);
    EXPECT_NEAR(a.step.gradient_norm, b.step.gradient_norm, 1e-5);
  }
  EXPECT_EQ(parts.ending(), Ending::kFinished);
}

// 45 examples in micro-batches of 10: the last one has 5.
TEST(Trainer, AMicroBatchCountsByItsExamples) {
  const Split data = split(Task::kRegression);
  const Problem problem = mlp_problem(network(0), Task::kRegression);
  const StepResult whole = Trainer(problem, data, {.batch = 45}).step();
  const StepResult parts = Trainer(problem, data, {.batch = 10, .accumulate = 5}).step();
  EXPECT_NEAR(parts.step.loss / whole.step.loss, 1, 1e-5);
  EXPECT_NEAR(parts.step.gradient_norm / whole.step.gradient_norm, 1, 1e-5);
}

// If all examples are equal, micro-batches differ only by their dropout masks.
TEST(Trainer, EveryMicroBatchHasDropoutOfItsOwn) {
  Split data;
  data.train = examples(Task::kRegression, 8, 1);
  const auto first_row = [](const Tensor& rows) {
    return gather_rows(rows, std::vector<std::int32_t>(8, 0));
  };
  data.train.inputs = first_row(data.train.inputs);
  data.train.targets = first_row(data.train.targets);
  const Problem problem = mlp_problem(network(0.5), Task::kRegression);
  Trainer one_by_one(problem, data, {.epochs = 2, .batch = 4, .schedule = {.rate = 0}});
  Trainer together(problem, data,
                   {.epochs = 1, .batch = 4, .accumulate = 2, .schedule = {.rate = 0}});
  const double first = one_by_one.step().step.loss, second = one_by_one.step().step.loss;
  EXPECT_NE(first, second);
  EXPECT_NE(first, one_by_one.step().step.loss) << "another epoch has other masks";
  EXPECT_EQ(together.step().step.loss, static_cast<float>(0.5 * first + 0.5 * second));
}

// However long the steps take: a pause lasts at least as long as it is to.
TEST(Trainer, SamplesASecondAreThoseOfOneEpoch) {
  const Split data = split(Task::kClassification);
  Trainer trainer(mlp_problem(network(0)), data, {.epochs = 8, .batch = 45});
  while (trainer.ending() == Ending::kNone) {
    const StepResult result = trainer.step([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 0U;
    });
    EXPECT_GT(result.epoch->samples_per_second, 0);
    EXPECT_LE(result.epoch->samples_per_second, 45 / 0.001) << result.epoch->epoch;
  }
}

// Those before a restore() count as little as their time.
TEST(Trainer, SamplesASecondAreThoseSinceItWasRestored) {
  const Split data = split(Task::kClassification);
  const auto pause = [](std::int64_t milliseconds) {
    return [=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      return 0U;
    };
  };
  Trainer trainer(mlp_problem(network(0)), data, {.epochs = 9, .batch = 20});
  const TrainState start = trainer.state();
  for (int i = 0; i < 50; ++i) {
    trainer.step();
    trainer.restore(start);
  }
  for (int i = 0; i < 2; ++i) trainer.step(pause(20));
  EXPECT_LE(trainer.step(pause(20)).epoch->samples_per_second, 45 / 0.06);
  trainer.step(pause(200));
  trainer.restore(start);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 2; ++i) trainer.step();
  const StepResult last = trainer.step();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(last.epoch->samples_per_second, 45 / time.count());
}

// 45 examples in batches of 20: the last one has 5.
TEST(Trainer, TheLossOfAnEpochIsTheMeanOverItsExamples) {
  const Split data = split(Task::kRegression);
  Trainer trainer(mlp_problem(network(), Task::kRegression), data, {.epochs = 2, .batch = 20});
  for (int epoch = 0; epoch < 2; ++epoch) {
    double sum = 0, norms = 0;
    for (const double rows : {20.0, 20.0, 5.0}) {
      const StepResult result = trainer.step();
      sum += result.step.loss * rows;
      norms += result.step.gradient_norm;
      ASSERT_EQ(result.epoch.has_value(), rows == 5);
      if (!result.epoch) continue;
      EXPECT_EQ(result.epoch->train.at("loss"), sum / 45);
      EXPECT_EQ(result.epoch->gradient_norm, norms / 3);
    }
  }
}

// Its log has the first part of the epoch as an epoch, and then the whole.
TEST(Trainer, TheLossOfAnEpochIsOfAllOfItWhereARunEndedWithinIt) {
  const Split data = split(Task::kRegression);
  const Problem problem = mlp_problem(network(), Task::kRegression);
  TrainOptions options{.epochs = 1, .steps = 2, .batch = 20};
  Trainer first(problem, data, options);
  double sum = 0, norms = 0;
  const auto step = [&](Trainer& trainer, double rows) {
    StepResult result = trainer.step();
    sum += result.step.loss * rows;
    norms += result.step.gradient_norm;
    return result.epoch;
  };
  EXPECT_FALSE(step(first, 20));
  const std::optional<EpochEvent> part = step(first, 20);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->train.at("loss"), sum / 40);
  options.steps = 3;
  Trainer longer(problem, data, options);
  longer.restore(first.state());
  const std::optional<EpochEvent> whole = step(longer, 5);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->train.at("loss"), sum / 45);
  EXPECT_EQ(whole->gradient_norm, norms / 3);
}

TEST(Trainer, EveryTaskLearns) {
  for (const Task task : {Task::kClassification, Task::kMultiLabel, Task::kRegression}) {
    const Split data = split(task);
    const Standardization scale = fit_standardization(data.train, Scaling::kZScore);
    Trainer trainer(
        mlp_problem(network(0), task, {}, scale), data,
        {.epochs = 60, .batch = 15, .schedule = {.rate = 0.01}, .rule = {optim::Adam{}}});
    std::vector<double> losses;
    while (trainer.ending() == Ending::kNone)
      if (const auto epoch = trainer.step().epoch) losses.push_back(epoch->validation.at("loss"));
    EXPECT_LT(losses.back(), losses.front() / 2) << limpid::name(task);
    // The model's inputs and outputs are in the original units.
    Evaluator evaluate(trainer.problem(), data.validation);
    const TestResult result = evaluate(trainer.model());
    EXPECT_EQ(result.metrics.at("loss"), losses.back());
    if (task == Task::kRegression) {
      EXPECT_LT(result.metrics.at("rmse"), 3);
    }
  }
}

TEST(Trainer, BatchNormCarriesItsStatistics) {
  const Split data = split(Task::kClassification);
  nn::Mlp net = network(0);
  net.norm = nn::MlpNorm::kBatch;
  Trainer trainer(mlp_problem(net), data, {.epochs = 3, .batch = 15});
  finish_training(trainer);
  const Params model = trainer.model();
  const auto mean = model.at("norms.0.running_mean").values<float>();
  EXPECT_TRUE(std::any_of(mean.begin(), mean.end(), [](float m) { return m != 0; }));
  EXPECT_EQ(model.names(), [&] {
    std::vector<std::string> names;
    for (const Input& i : net.function().inputs()) names.push_back(i.name);
    names.pop_back();
    return names;
  }());
}

// Parameters and running statistics: a + (1 - d) (p - a), the first decays below ema.
TEST(Trainer, ItsModelIsTheAverageOfItsSteps) {
  const Split data = split(Task::kClassification);
  nn::Mlp net = network(0);
  net.norm = nn::MlpNorm::kBatch;
  const Problem problem = mlp_problem(net);
  TrainOptions options{.epochs = 4, .batch = 15};
  Trainer plain(problem, data, options);
  options.ema = 0.4;
  Trainer averaged(problem, data, options);
  std::vector<double> expected;
  const auto numbers = [](const Params& params) {
    std::vector<double> all;
    for (const auto& [name, value] : params)
      for (const float v : value.values<float>()) all.push_back(static_cast<double>(v));
    return all;
  };
  expected = numbers(plain.model());
  EXPECT_EQ(numbers(averaged.model()), expected);
  EpochEvent last_plain, last_averaged;
  for (double n = 1; plain.ending() == Ending::kNone; ++n) {
    if (const auto epoch = plain.step().epoch) last_plain = *epoch;
    if (const auto epoch = averaged.step().epoch) last_averaged = *epoch;
    expect_same_params(averaged.state().params, plain.state().params);
    const double share = 1 - std::min(0.4, (1 + n) / (10 + n));
    const std::vector<double> now = numbers(plain.model());
    const std::vector<double> got = numbers(averaged.model());
    for (std::size_t i = 0; i < now.size(); ++i) {
      expected[i] += share * (now[i] - expected[i]);
      EXPECT_NEAR(got[i], expected[i], 1e-5);
    }
  }
  // The average is what is evaluated.
  EXPECT_NE(last_averaged.validation.at("loss"), last_plain.validation.at("loss"));
}

TEST(Trainer, BeginsAnAverageWhereARunHadNone) {
  const Split data = split(Task::kClassification);
  TrainOptions options{.epochs = 2, .batch = 15};
  Trainer plain(mlp_problem(network()), data, options);
  plain.step();
  options.ema = 0.9;
  Trainer averaged(mlp_problem(network()), data, options);
  averaged.restore(plain.state());
  expect_same_params(averaged.model(), plain.model());
  TrainState state = averaged.state();
  state.average = Params{{"layers.0.weight", Tensor::scalar(1.0f)}};
  EXPECT_THROW(averaged.restore(state), Error);
}

// With a rate of 0 two steps of a batch see what one of two micro-batches sees.
TEST(Trainer, StatisticsAreOfEveryMicroBatch) {
  const Split data = split(Task::kClassification);
  nn::Mlp net = network(0);
  net.norm = nn::MlpNorm::kBatch;
  TrainOptions options{.batch = 15, .schedule = {.rate = 0}};
  Trainer each(mlp_problem(net), data, options);
  options.accumulate = 2;
  Trainer both(mlp_problem(net), data, options);
  each.step();
  each.step();
  both.step();
  expect_same_params(both.state().non_trainable, each.state().non_trainable);
}

TEST(Trainer, StepsAllocateNothing) {
  const Split data = split(Task::kRegression);
  const Problem problem = mlp_problem(network(), Task::kRegression);
  for (const std::int64_t accumulate : {1, 2})
    for (const bool ahead : {false, true}) {
      Trainer trainer(problem, data,
                      {.epochs = 3, .batch = 5, .accumulate = accumulate, .gather_ahead = ahead});
      while (trainer.steps_done() <= trainer.steps_an_epoch()) trainer.step();
      const std::size_t before = allocations();
      trainer.step();
      trainer.step();
      EXPECT_EQ(allocations(), before);
    }
}

// The objects that it points to must not move, nor be destroyed before it.
static_assert(!std::is_move_constructible_v<Trainer> && !std::is_move_assignable_v<Trainer>);
static_assert(std::is_constructible_v<Trainer, Problem, const Split&, TrainOptions>);
static_assert(!std::is_constructible_v<Trainer, Problem, Split, TrainOptions>);
static_assert(!std::is_constructible_v<Trainer, Problem, const Split, TrainOptions>);
static_assert(
    !std::is_constructible_v<PrefetchingLoader, Dataset, PrefetchingLoader::Options, std::int64_t>);

#ifdef __linux__
// The signals that each thread of this process but the calling one blocks.
std::vector<std::uint64_t> signals_blocked_by_others() {
  std::vector<std::uint64_t> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:"))
        masks.push_back(std::stoull(line.substr(line.find('\t') + 1), nullptr, 16));
  }
  return masks;
}

TEST(Trainer, ItsThreadsTakeNoSignals) {
  const Split data = split(Task::kRegression);
  const std::size_t others = signals_blocked_by_others().size();
  ThreadPool pool({.threads = 2});
  Trainer trainer(mlp_problem(network(), Task::kRegression), data, {.gather_ahead = true}, &pool);
  trainer.step();
  const std::vector<std::uint64_t> blocked = signals_blocked_by_others();
  ASSERT_EQ(blocked.size(), others + 2);
  for (const std::uint64_t mask : blocked)
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD})
      EXPECT_NE(mask >> (signal - 1) & 1, 0U) << "signal " << signal;
}
#endif

// ---- the same bits

TrainOptions everything() {
  return {.epochs = 6,
          .batch = 7,
          .accumulate = 2,
          .schedule = {.kind = optim::Schedule::Kind::kCosine, .rate = 0.02, .warmup = 3},
          .rule = {optim::AdamW{}, {.value = 0.5, .norm = 1}},
          .seed = 9,
          .metric = "macro_f1",
          .early_stopping = EarlyStopping{.patience = 6},
          .ema = 0.9};
}

nn::Mlp normed_network() {
  nn::Mlp net = network();
  net.norm = nn::MlpNorm::kBatch;
  return net;
}

// Its numbers are of the steps that it had, also where it is the last one and short.
TEST(Trainer, AnEpochHasTheMeanNormAndTheLastRateOfItsSteps) {
  TrainOptions options = everything();
  options.steps = 17;
  const Split data = split(Task::kClassification);
  Trainer trainer(mlp_problem(normed_network()), data, options);
  double norms = 0, steps = 0, epochs = 0;
  while (trainer.ending() == Ending::kNone) {
    const StepResult result = trainer.step();
    norms += result.step.gradient_norm;
    ++steps;
    if (!result.epoch) continue;
    EXPECT_EQ(result.epoch->learning_rate, result.step.learning_rate);
    EXPECT_EQ(result.epoch->gradient_norm, norms / steps);
    norms = steps = 0;
    ++epochs;
  }
  EXPECT_GT(epochs, 1);
  EXPECT_NE(17 % trainer.steps_an_epoch(), 0);
}

TEST(Trainer, GoesOnFromAnyStepAsIfNothingHadBeen) {
  const Split data = split(Task::kClassification);
  const Problem problem = mlp_problem(normed_network());
  Trainer whole(problem, data, everything());
  std::vector<TrainState> states{whole.state()};
  while (whole.ending() == Ending::kNone) {
    whole.step();
    states.push_back(whole.state());
  }
  ASSERT_EQ(whole.steps(), 24);
  for (const TrainState& state : states) {
    Trainer other(problem, data, everything());
    other.restore(state);
    expect_same_params(other.state(), state);
    finish_training(other);
    EXPECT_EQ(other.ending(), whole.ending());
    expect_same_params(other.state(), states.back());
    expect_same_params(other.model(), whole.model());
  }
  // It may have gathered batches that it no longer needs.
  TrainOptions ahead = everything();
  ahead.gather_ahead = true;
  Trainer back(problem, data, ahead);
  back.step();
  back.restore(states.front());
  finish_training(back);
  expect_same_params(back.state(), states.back());
}

TEST(Trainer, NeitherThreadsNorGatheringAheadChangeABit) {
  const Split data = split(Task::kClassification);
  const Problem problem = mlp_problem(normed_network());
  Trainer alone(problem, data, everything());
  finish_training(alone);
  ThreadPool pool({.threads = 3});
  for (ThreadPool* with : {&pool, static_cast<ThreadPool*>(nullptr)}) {
    TrainOptions options = everything();
    options.gather_ahead = true;
    Trainer other(problem, data, options, with);
    finish_training(other);
    expect_same_params(other.state(), alone.state());
  }
}

TEST(Trainer, RefusesTheStateOfAnotherRun) {
  const Split data = split(Task::kClassification);
  Trainer trainer(mlp_problem(network()), data, everything());
  trainer.step();
  const TrainState good = trainer.state();
  const std::vector<std::function<void(TrainState&)>> changes = {
      [](TrainState& s) { s.seed = 77; },
      [](TrainState& s) { s.step = -1; },
      [&](TrainState& s) { s.step = trainer.steps() + 1; },
      [](TrainState& s) { s.best_epoch = -1; },
      [](TrainState& s) { s.best_epoch = 2; },
      [](TrainState& s) { s.params = {}; },
      [](TrainState& s) { s.params.set("layers.0.bias", Tensor::scalar(1.0f)); },
      [](TrainState& s) { s.params.set("another", Tensor::scalar(1.0f)); },
      [](TrainState& s) {
        Params renamed;
        for (const auto& [name, value] : s.params)
          renamed.set(name == "layers.0.bias" ? "another" : name, value);
        s.params = renamed;
      },
      [](TrainState& s) { s.optimizer = {}; },
      [](TrainState& s) { s.non_trainable.set("more", Tensor::scalar(1.0f)); },
      [](TrainState& s) { s.best.set("more", Tensor::scalar(1.0f)); }};
  for (const auto& change : changes) {
    TrainState state = good;
    change(state);
    expect_refused(ErrorCode::kFormat, [&] { trainer.restore(state); });
    expect_same_params(trainer.state(), good);
  }
}

// The steps of the schedule are those of the run.
TEST(Trainer, ItsRateFallsOverItsSteps) {
  const Split data = split(Task::kClassification);
  Trainer trainer(
      mlp_problem(network()), data,
      {.epochs = 2,
       .batch = 15,
       .schedule = {.kind = optim::Schedule::Kind::kLinear, .rate = 0.5, .steps = 1000}});
  ASSERT_EQ(trainer.steps(), 6);
  for (int step = 0; step < 6; ++step)
    EXPECT_DOUBLE_EQ(trainer.step().step.learning_rate, 0.5 * (6 - step) / 6) << step;
}

// As of a file that can no longer be read, and not that of data that have an end.
TEST(Trainer, ShowsWhyItsDataCannotBeRead) {
  Split data = split(Task::kClassification);
  data.train.inputs = Tensor::deferred_rows(data.train.inputs.type(),
                                            [](std::int64_t, std::int64_t, std::span<std::byte>) {
                                              throw Error(ErrorCode::kIo, "the disk is gone");
                                            });
  for (const bool ahead : {false, true}) {
    Trainer trainer(mlp_problem(network()), data, {.gather_ahead = ahead});
    try {
      trainer.step();
      FAIL() << ahead;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the disk is gone") << ahead;
    }
  }
}

// ---- how a run ends

// An equal metric is no improvement: the first epoch remains the best one.
TEST(Trainer, ATieIsNotBetter) {
  const Split data = split(Task::kClassification);
  Trainer trainer(mlp_problem(network(0)), data,
                  {.epochs = 50,
                   .batch = 9,
                   .schedule = {.rate = 1e-30},  // too small to change the loss
                   .early_stopping = EarlyStopping{.patience = 3}});
  std::int64_t epochs = 0;
  while (trainer.ending() == Ending::kNone)
    if (const auto epoch = trainer.step().epoch) {
      ++epochs;
      EXPECT_EQ(epoch->best, epoch->epoch == 1) << "epoch " << epoch->epoch;
    }
  EXPECT_EQ(trainer.ending(), Ending::kEarlyStopping);
  EXPECT_EQ(epochs, 1 + 3);
  EXPECT_EQ(trainer.state().best_epoch, 1);
}

// The test set does not choose the model.
TEST(Trainer, NoEpochIsTheBestWithoutAValidationSet) {
  Split data = split(Task::kClassification);
  data.validation = {};
  Trainer trainer(mlp_problem(network()), data, {.epochs = 2, .batch = 45});
  while (trainer.ending() == Ending::kNone) {
    const EpochEvent epoch = *trainer.step().epoch;
    EXPECT_TRUE(epoch.validation.find("loss")) << "it is watched all the same";
    EXPECT_FALSE(epoch.best);
  }
  EXPECT_EQ(trainer.best_epoch(), 0);
}

// Every epoch is a little better than the one before, but none by as much as is asked for.
TEST(Trainer, StopsEarlyWhereGainsAreTooSmall) {
  const Split data = split(Task::kClassification);
  const auto epochs_with = [&](double least) {
    Trainer trainer(mlp_problem(network(0)), data,
                    {.epochs = 12,
                     .batch = 45,
                     .schedule = {.rate = 0.01},
                     .early_stopping = EarlyStopping{.patience = 3, .min_delta = least}});
    finish_training(trainer);
    return trainer.steps_done();
  };
  EXPECT_EQ(epochs_with(0), 12);
  EXPECT_EQ(epochs_with(1), 1 + 3);
}

TEST(Trainer, HasStoppedEarlyAfterAResumeToo) {
  const Split data = split(Task::kClassification);
  const TrainOptions options{.epochs = 50,
                             .batch = 9,
                             .schedule = {.rate = 1e-30},
                             .early_stopping = EarlyStopping{.patience = 3}};
  Trainer first(mlp_problem(network(0)), data, options);
  while (first.ending() == Ending::kNone) first.step();
  Trainer again(mlp_problem(network(0)), data, options);
  again.restore(first.state());
  EXPECT_EQ(again.ending(), Ending::kEarlyStopping);
  EXPECT_THROW(again.step(), Error);
  // After the last epoch, too, which ends before its five steps.
  TrainOptions cut = options;
  cut.steps = 18;
  Trainer whole(mlp_problem(network(0)), data, cut);
  finish_training(whole);
  ASSERT_EQ(whole.steps_done(), 18);
  Trainer same(mlp_problem(network(0)), data, cut);
  same.restore(whole.state());
  EXPECT_EQ(whole.ending(), Ending::kEarlyStopping);
  EXPECT_EQ(same.ending(), Ending::kEarlyStopping);
}

// Decay shrinks the weights of a feature that only the validation rows have. In the first epoch
// they make infinite values, whose difference is no number. Powers of 2 leave no rounding.
TEST(Trainer, ALossThatIsNoNumberIsNotTheBest) {
  Split data = split(Task::kRegression);
  const auto with_last = [](const Tensor& inputs, float value) {
    const auto x = inputs.values<float>();
    return Tensor::generate<float>(inputs.shape(), [&](std::span<float> out) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = i % kFeatures == kFeatures - 1 ? value : x[i];
    });
  };
  data.train.inputs = with_last(data.train.inputs, 0);
  data.validation.inputs = with_last(data.validation.inputs, 0x1p100f);
  Trainer trainer(mlp_problem(nn::mlp({kFeatures, 2, 2}, relu), Task::kRegression), data,
                  {.epochs = 3,
                   .batch = 45,
                   .schedule = {.kind = optim::Schedule::Kind::kConstant, .rate = 0.5},
                   .rule = {optim::Sgd{.momentum = 0, .weight_decay = 2 - 0x1p-9}},
                   .early_stopping = EarlyStopping{.patience = 3}});
  TrainState state = trainer.state();
  state.params.set(
      "layers.0.weight",
      Tensor::from<float>({2, kFeatures}, {0, 0, 0, 0, 0, 0x1p40f, 0, 0, 0, 0, 0, 0x1p40f}));
  state.params.set("layers.1.weight", Tensor::from<float>({2, 2}, {1, -1, 1, -1}));
  trainer.restore(state);
  std::vector<bool> numbers, best;
  while (trainer.ending() == Ending::kNone) {
    const EpochEvent epoch = *trainer.step().epoch;
    numbers.push_back(std::isfinite(epoch.validation.at("loss")));
    best.push_back(epoch.best);
  }
  EXPECT_EQ(numbers, (std::vector{false, true, true}));
  EXPECT_FALSE(best.at(0));
  EXPECT_TRUE(best.at(1));
}

TEST(Trainer, StopsEarlyWithTheBestModel) {
  Split data = split(Task::kClassification);
  // Random labels: memorising them does not generalise.
  data.train.targets = Tensor::generate<std::int32_t>({45}, [](std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Key(5).word(i) % 2 == 1;
  });
  // The statistics of the norm are those of the best epoch, too.
  nn::Mlp normed = network(0);
  normed.norm = nn::MlpNorm::kBatch;
  for (const nn::Mlp& net : {network(0), normed}) {
    Trainer trainer(mlp_problem(net), data,
                    {.epochs = 200,
                     .batch = 9,
                     .schedule = {.rate = 0.3},
                     .early_stopping = EarlyStopping{.patience = 4}});
    std::vector<double> losses;
    std::int64_t best = 0;
    while (trainer.ending() == Ending::kNone)
      if (const auto epoch = trainer.step().epoch) {
        losses.push_back(epoch->validation.at("loss"));
        if (epoch->best) best = epoch->epoch;
      }
    EXPECT_EQ(trainer.ending(), Ending::kEarlyStopping);
    EXPECT_EQ(static_cast<std::int64_t>(losses.size()), best + 4);
    EXPECT_EQ(losses[static_cast<std::size_t>(best - 1)],
              *std::min_element(losses.begin(), losses.end()));
    Evaluator evaluate(trainer.problem(), data.validation);
    EXPECT_EQ(evaluate(trainer.model()).metrics.at("loss"),
              losses[static_cast<std::size_t>(best - 1)]);
  }
}

// Every epoch is better, but the first one alone by enough.
TEST(Trainer, WithoutPatienceAnyMoreItsModelIsTheLast) {
  const Split data = split(Task::kClassification);
  TrainOptions options{.epochs = 12,
                       .batch = 45,
                       .schedule = {.rate = 0.01},
                       .early_stopping = EarlyStopping{.patience = 3, .min_delta = 1}};
  const Problem problem = mlp_problem(network(0));
  Trainer first(problem, data, options);
  finish_training(first);
  ASSERT_EQ(first.ending(), Ending::kEarlyStopping);
  options.early_stopping.reset();
  Trainer on(problem, data, options);
  on.restore(first.state());
  finish_training(on);
  EXPECT_EQ(on.steps_done(), 12);
  expect_same_params(on.model(), on.state().params);
  EXPECT_TRUE(on.state().best.empty());
}

// The model of the best epoch so far was not kept.
TEST(Trainer, WithPatienceFromNowOnItsBestEpochIsALaterOne) {
  const Split data = split(Task::kClassification);
  TrainOptions options{.epochs = 20, .batch = 45, .schedule = {.rate = 1e-30}};
  const Problem problem = mlp_problem(network(0));
  Trainer first(problem, data, options);
  for (int step = 0; step < 5; ++step) first.step();
  ASSERT_EQ(first.best_epoch(), 1);
  options.early_stopping = EarlyStopping{.patience = 3};
  for (int resumes = 0; resumes < 2; ++resumes) {
    Trainer on(problem, data, options);
    on.restore(first.state());
    for (int resume = 0; resume < resumes; ++resume) on.restore(on.state());
    EXPECT_EQ(on.ending(), Ending::kNone);
    finish_training(on);
    EXPECT_EQ(on.ending(), Ending::kEarlyStopping);
    EXPECT_EQ(on.best_epoch(), 6);
    EXPECT_EQ(on.steps_done(), 6 + 3);
    expect_same_params(on.model(), on.state().best);
  }
}

TEST(Trainer, EndsBeforeAStepThatIsNotFinite) {
  const Split data = split(Task::kRegression);
  nn::Mlp normed = network(0);
  normed.norm = nn::MlpNorm::kBatch;
  const Problem problem = mlp_problem(normed, Task::kRegression);
  for (const std::int64_t accumulate : {1, 2}) {
    Trainer trainer(problem, data,
                    {.epochs = 9, .batch = 5, .accumulate = accumulate, .schedule = {.rate = 1e4}});
    TrainState before = trainer.state();
    StepResult result;
    while (trainer.ending() == Ending::kNone) {
      before = trainer.state();
      result = trainer.step();
    }
    ASSERT_EQ(trainer.ending(), Ending::kNonFinite);
    EXPECT_FALSE(std::isfinite(result.step.loss) && std::isfinite(result.step.gradient_norm));
    EXPECT_GT(before.step, 0);
    expect_same_params(trainer.state(), before);
    const Trainer::Replay replay = trainer.replay();
    const std::vector<Tensor> again = interpret(replay.function, replay.inputs);
    const double loss =
        static_cast<double>(again[replay.function.output_index("loss")].item<float>());
    EXPECT_TRUE(loss == result.step.loss || (std::isnan(loss) && std::isnan(result.step.loss)));
    EXPECT_THROW(trainer.step(), Error);
    expect_same_params(trainer.state(), before);  // the replay changed nothing
  }
}

// Its sums of before are finite, and its own batch has the NaN.
TEST(Trainer, ReplaysTheMicroBatchThatIsNotFinite) {
  const Split good = split(Task::kClassification);
  const Problem problem = mlp_problem(network(0));
  // With 20 examples an update, an epoch has three of them.
  for (const auto& [shards, accumulate] : {std::pair{1, 5}, {2, 5}, {1, 2}, {2, 2}})
    for (const std::size_t row : {0, 22, 44}) {
      Split data = good;
      const auto x = good.train.inputs.values<float>();
      data.train.inputs = Tensor::generate<float>({45, kFeatures}, [&](std::span<float> out) {
        std::copy(x.begin(), x.end(), out.begin());
        out[row * kFeatures] = std::nanf("");
      });
      Trainer trainer(problem, data, {.batch = 10, .accumulate = accumulate, .shards = shards});
      while (trainer.ending() == Ending::kNone) trainer.step();
      ASSERT_EQ(trainer.ending(), Ending::kNonFinite);
      const Trainer::Replay replay = trainer.replay();
      for (std::size_t i = 0; i < replay.inputs.size(); ++i) {
        if (replay.inputs[i].dtype() != Dtype::kF32) continue;
        const auto values = replay.inputs[i].values<float>();
        EXPECT_EQ(std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); }),
                  replay.function.inputs()[i].name == "x")
            << fmt::format("{}, row {}, {} shards, {} micro-batches",
                           replay.function.inputs()[i].name, row, shards, accumulate);
      }
    }
}

// The sum of the squares overflows, the loss does not.
TEST(Trainer, EndsBeforeAnInfiniteGradient) {
  Split data = split(Task::kRegression);
  const auto x = data.train.inputs.values<float>();
  data.train.inputs = Tensor::generate<float>({45, kFeatures}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = 1e25f * x[i];
  });
  const Problem problem =
      mlp_problem(nn::mlp({kFeatures, 2}, relu), Task::kRegression, Loss{.kind = Loss::Kind::kMae});
  for (const std::int64_t shards : {1, 2}) {
    Trainer trainer(problem, data, {.batch = 45, .shards = shards});
    const TrainState before = trainer.state();
    const StepResult result = trainer.step();
    EXPECT_TRUE(std::isfinite(result.step.loss));
    EXPECT_FALSE(std::isfinite(result.step.gradient_norm));
    EXPECT_EQ(trainer.ending(), Ending::kNonFinite);
    expect_same_params(trainer.state(), before);
    // No shard is to blame: the last one is shown.
    EXPECT_EQ(trainer.replay().inputs.size(), trainer.replay().function.inputs().size());
  }
}

TEST(Trainer, ChecksEveryParameterWhereAsked) {
  const Split data = split(Task::kRegression);
  const Problem problem = mlp_problem(network(0), Task::kRegression);
  // The first update overflows, its loss and gradient do not.
  TrainOptions options{.epochs = 1, .batch = 45, .schedule = {.rate = 3e38}};
  Trainer careless(problem, data, options);
  careless.step();
  EXPECT_EQ(careless.ending(), Ending::kFinished);
  options.check_finite = true;
  Trainer careful(problem, data, options);
  const TrainState before = careful.state();
  careful.step();
  EXPECT_EQ(careful.ending(), Ending::kNonFinite);
  expect_same_params(careful.state(), before);
}

// Adagrad divides by the root of its sum: an infinite one stops a parameter for ever.
TEST(Trainer, ChecksTheOptimizersStateWhereAsked) {
  const Split data = split(Task::kRegression);
  const Problem problem = mlp_problem(network(0), Task::kRegression);
  Trainer trainer(
      problem, data,
      {.batch = 45, .schedule = {.rate = 0.01}, .rule = {optim::Adagrad{}}, .check_finite = true});
  TrainState state = trainer.state();
  state.optimizer.set("sum.layers.1.bias", Tensor::from<float>({2}, {1, INFINITY}));
  trainer.restore(state);
  const StepResult result = trainer.step();
  EXPECT_TRUE(std::isfinite(result.step.loss));
  EXPECT_TRUE(std::isfinite(result.step.gradient_norm));
  EXPECT_EQ(trainer.ending(), Ending::kNonFinite);
}

TEST(Trainer, ReplaysNothingBeforeItsFirstStep) {
  const Split data = split(Task::kClassification);
  Trainer trainer(mlp_problem(network()), data, {});
  const TrainState first = trainer.state();
  for (const bool again : {false, true}) {
    if (again) {
      trainer.step();
      EXPECT_NO_THROW(trainer.observed());
      trainer.restore(first);
    }
    expect_refused(ErrorCode::kInvalidArgument, [&] { trainer.replay(); });
    EXPECT_THROW(trainer.observed(), Error);
  }
}

TEST(Buffers, AreFiniteIfEveryNumberIs) {
  for (const bool narrow : {true, false})
    for (const double last : {1.0, std::nan(""), -HUGE_VAL}) {
      const Tensor numbers = narrow ? Tensor::from<float>({2}, {1, static_cast<float>(last)})
                                    : Tensor::from<double>({2}, {1, last});
      const Buffers buffers({{"first", Tensor::scalar(1.0f)},
                             {"numbers", numbers},
                             {"labels", Tensor::from<std::int32_t>({1}, {-1})}});
      EXPECT_EQ(buffers.next_is_finite(), last == 1) << narrow << " " << last;
    }
  EXPECT_FALSE(Buffers({{"first", Tensor::scalar(std::nanf(""))}, {"last", Tensor::scalar(1.0f)}})
                   .next_is_finite());
}

// Each at a multiple of 64 bytes, one after the other.
TEST(Buffers, HaveAPlaceForEachTensorAndBecomeZero) {
  const Params values{{"a", Tensor::from<float>({3}, {1, 2, 3})},
                      {"b", Tensor::from<double>({9}, {1, 2, 3, 4, 5, 6, 7, 8, 9})},
                      {"c", Tensor::from<float>({16}, std::vector<float>(16, 1))},
                      {"d", Tensor::scalar(4.0f)}};
  Buffers buffers(values);
  const std::size_t offsets[] = {0, 64, 192, 256};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(buffers.offset(i), offsets[i]) << i;
  EXPECT_EQ(buffers.bytes(), 320U);
  expect_same_params(buffers.values(), values);
  buffers.zero();
  for (const auto& [name, value] : buffers.values())
    EXPECT_TRUE(value.same_bits(Tensor::zeros(value.type()))) << name;
  buffers.advance();
  expect_same_params(buffers.values(), values);
}

TEST(PrefetchingLoader, HasNoMoreThanItsPieces) {
  const Dataset data = examples(Task::kRegression, 5, 1);
  for (const bool ahead : {false, true}) {
    std::int64_t pieces = 0;
    PrefetchingLoader loader(data, {.most_rows = 3, .ahead = ahead},
                             [&]() -> std::optional<PrefetchingLoader::Piece> {
                               if (pieces == 2) return {};
                               return PrefetchingLoader::Piece{pieces++, {0, 3}};
                             });
    EXPECT_EQ(loader.next().rows, 3);
    EXPECT_EQ(loader.next().rows, 3);
    EXPECT_THROW(loader.next(), Error);
  }
}

// It is the full batch.
TEST(Trainer, ABatchMayBeLargerThanAnyData) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Split data = split(Task::kClassification);
  const Problem problem = mlp_problem(network());
  const auto trained = [&](std::int64_t batch, std::int64_t accumulate, std::int64_t shards) {
    Trainer trainer(problem, data,
                    {.epochs = 2, .batch = batch, .accumulate = accumulate, .shards = shards});
    EXPECT_EQ(trainer.steps(), 2);
    finish_training(trainer);
    return trainer.state();
  };
  for (const std::int64_t shards : {1, 2}) {
    expect_same_params(trained(kMost, 1, shards), trained(45, 1, shards));
    expect_same_params(trained(20, kMost, shards), trained(20, 3, shards));
    expect_same_params(trained(kMost, kMost, shards), trained(45, 2, shards));
  }
}

TEST(Trainer, NoEpochsAreTheFirstModel) {
  const Split data = split(Task::kClassification);
  const Problem problem = mlp_problem(network());
  Trainer trainer(problem, data, {.epochs = 0, .seed = 3});
  EXPECT_EQ(trainer.ending(), Ending::kFinished);
  expect_same_params(trainer.model(), problem.init(Key(3).fold_in(0)));
}

TEST(Trainer, RefusesWhatDoesNotFit) {
  const Split data = split(Task::kClassification), of_numbers = split(Task::kRegression);
  const Problem problem = mlp_problem(network());
  const Problem numbers = mlp_problem(network(), Task::kRegression);
  const auto expect_no_trainer = [](ErrorCode code, const Problem& p, const Split& d,
                                    const TrainOptions& o = {}) {
    expect_refused(code, [&] { Trainer(p, d, o); });
  };
  for (const TrainOptions& options : {TrainOptions{.epochs = -1}, TrainOptions{.steps = -2},
                                      TrainOptions{.batch = 0}, TrainOptions{.accumulate = 0}})
    expect_no_trainer(ErrorCode::kInvalidArgument, problem, data, options);
  EXPECT_NO_THROW(Trainer(numbers, of_numbers, {.metric = "rmse"}));
  expect_no_trainer(ErrorCode::kNotFound, problem, data, {.metric = "rmse"});
  expect_no_trainer(ErrorCode::kNotFound, numbers, of_numbers, {.metric = "accuracy"});
  expect_no_trainer(ErrorCode::kInvalidArgument, problem, {});
  expect_no_trainer(ErrorCode::kInvalidArgument, problem, {data.train, {}, data.test},
                    {.early_stopping = EarlyStopping{}});
  expect_no_trainer(ErrorCode::kShape, problem, of_numbers);
  expect_no_trainer(ErrorCode::kShape, mlp_problem(nn::mlp({kFeatures + 1, 2}, relu)), data);
  for (Dataset Split::*const part : {&Split::validation, &Split::test}) {
    Split three = data;
    (three.*part).classes = 3;
    expect_no_trainer(ErrorCode::kInvalidArgument, problem, three);
  }
  EXPECT_THROW(mlp_problem(network(), Task::kClassification, Loss{Loss::Kind::kMse}), Error);
}

}  // namespace
}  // namespace limpid::train
