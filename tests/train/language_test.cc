// Training of language models: what it computes, that a run can resume anywhere, and what it
// writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/error.h"
#include "limpid/data/batches.h"
#include "limpid/data/text/text_windows.h"
#include "limpid/formats/model.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/trainer.h"
#include "limpid/train/run/text_sampler.h"

namespace limpid::train {
namespace {

constexpr std::int64_t kVocabulary = 7, kContext = 5;
using Kind = TokenWindows::Kind;

// Tokens that mostly determine the next one.
Tensor tokens(std::int64_t n, std::uint64_t seed) {
  return Tensor::generate<std::int32_t>({n}, [&](std::span<std::int32_t> out) {
    const Key key(seed);
    std::int32_t token = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      token = (2 * token + 1 + static_cast<std::int32_t>(key.below(2, i))) % kVocabulary;
      out[i] = token;
    }
  });
}

Split text(Kind train, Kind test) {
  const auto part = [](std::int64_t n, std::uint64_t seed, Kind kind) {
    Dataset data = windows_of(tokens(n, seed), kContext, kind);
    data.classes = kVocabulary;
    return data;
  };
  return {part(93, 1, train), {}, part(34, 2, test)};
}
Split text() { return text(Kind::kShifted, Kind::kTiled); }

nn::Gpt gpt(double dropout = 0.1) {
  return {.vocabulary = kVocabulary,
          .context = kContext,
          .layers = 2,
          .width = 12,
          .heads = 2,
          .dropout = dropout};
}

nn::CharLm char_lm() {
  return {kVocabulary, kContext, 3, nn::mlp({kContext * 3, 8, kVocabulary}, relu)};
}

nn::RecurrentLm recurrent(nn::RecurrentKind kind, double dropout = 0.1) {
  return {.kind = kind,
          .vocabulary = kVocabulary,
          .context = kContext,
          .layers = 2,
          .width = 12,
          .dropout = dropout};
}

TrainOptions options() {
  return {.epochs = 3,
          .batch = 4,
          .schedule = {.kind = optim::Schedule::Kind::kCosine, .rate = 0.02, .warmup = 3},
          .rule = {optim::AdamW{}, {.norm = 1}},
          .seed = 9};
}

void expect_same(const Params& a, const Params& b) {
  ASSERT_EQ(a.names(), b.names());
  for (const auto& [name, value] : a) EXPECT_TRUE(value.same_bits(b.at(name))) << name;
}

std::vector<EpochEvent> finish(Trainer& trainer) {
  std::vector<EpochEvent> epochs;
  while (trainer.ending() == Ending::kNone)
    if (const auto epoch = trainer.step().epoch) epochs.push_back(*epoch);
  return epochs;
}

// ---- what is trained

TEST(GptProblem, LearnsEveryTokenOfAWindow) {
  const Problem problem = gpt_problem(gpt(0));
  EXPECT_EQ(problem.target, (Type{Dtype::kI32, {kContext}}));
  const Params params = problem.init(Key(3));
  const Split data = text();
  std::vector<Tensor> inputs = params.values();
  inputs.insert(inputs.end(), {data.test.inputs_of(0, 2), data.test.targets_of(0, 2),
                               Tensor::scalar(std::int64_t{0})});
  const float loss = interpret(loss_function(problem, 2), inputs).front().item<float>();
  // The mean of the losses of both windows alone.
  double sum = 0;
  for (std::int64_t row = 0; row < 2; ++row)
    sum += Evaluator(problem, data.test.rows(row, 1))(params).metrics.at("loss");
  EXPECT_NEAR(loss, sum / 2, 1e-6);
  EXPECT_THROW(gpt_problem(gpt(), Loss{Loss::Kind::kMse}), Error);
}

TEST(Trainer, LearnsALanguage) {
  const Split data = text();
  TrainOptions longer = options();
  longer.epochs = 40;
  for (const Problem& problem :
       {gpt_problem(gpt(0)), recurrent_lm_problem(recurrent(nn::RecurrentKind::kLstm, 0)),
        recurrent_lm_problem(recurrent(nn::RecurrentKind::kGru, 0))}) {
    Trainer trainer(problem, data, longer);
    const std::vector<EpochEvent> epochs = finish(trainer);
    // Half of the tokens are random, with one bit of entropy.
    EXPECT_GT(epochs.front().validation.at("bits_per_token"), 1.5);
    const double most = problem.inference.name() == "gpt" ? 1.2 : 1.25;
    EXPECT_LT(epochs.back().validation.at("bits_per_token"), most) << problem.inference.name();
  }
}

TEST(Trainer, FeedsWindowsAsArraysAreFed) {
  const Split data = text(Kind::kSliding, Kind::kSliding);
  Split arrays = data;
  for (Dataset* part : {&arrays.train, &arrays.test}) {
    part->inputs = part->inputs_of(0, part->size());
    part->targets = part->targets_of(0, part->size());
    part->windows.reset();
  }
  Trainer a(char_lm_problem(char_lm()), data, options());
  Trainer b(char_lm_problem(char_lm()), arrays, options());
  const std::vector<EpochEvent> of_windows = finish(a);
  const std::vector<EpochEvent> of_arrays = finish(b);
  expect_same(a.model(), b.model());
  for (std::size_t e = 0; e < of_windows.size(); ++e)
    for (const auto& [name, value] : of_windows[e].validation)
      EXPECT_EQ(value, of_arrays[e].validation.at(name)) << name;
}

// As docs/language.md has it; the keys are those of the seed.
TEST(Trainer, ShufflesTheWindowsOfEachEpochFromAnotherOffset) {
  const Split data = text();
  Trainer trainer(gpt_problem(gpt()), data, options());
  const Key key(options().seed);
  const std::size_t before =
      trainer.problem().parameters().size() + trainer.problem().non_trainable.size();
  const std::int64_t windows = data.train.size();
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    const auto order =
        permutation(key.fold_in(1).fold_in(static_cast<std::uint64_t>(epoch)), windows);
    const std::int64_t offset = data.train.windows->offset(key.fold_in(3), epoch);
    for (std::int64_t row = 0; row < windows;) {
      trainer.step();
      const auto* x = static_cast<const std::int32_t*>(trainer.observed().at(before));
      for (std::int64_t end = row + trainer.observed_rows(); row < end; ++row, x += kContext) {
        std::vector<std::int32_t> expected(kContext);
        data.train.windows->write_inputs(order[static_cast<std::size_t>(row)], offset, expected);
        EXPECT_EQ(std::vector<std::int32_t>(x, x + kContext), expected) << epoch << ", " << row;
      }
    }
  }
}

TEST(Trainer, GoesOnWithATextFromAnyStep) {
  const Split data = text();
  for (const auto& [ahead, problem] :
       {std::pair(false, gpt_problem(gpt())),
        {true, gpt_problem(gpt())},
        {true, recurrent_lm_problem(recurrent(nn::RecurrentKind::kLstm))}}) {
    TrainOptions with = options();
    with.gather_ahead = ahead;
    Trainer whole(problem, data, with);
    std::vector<TrainState> states{whole.state()};
    while (whole.ending() == Ending::kNone) {
      whole.step();
      states.push_back(whole.state());
    }
    ASSERT_EQ(whole.steps(), 15);  // 93 / 5 - 1 windows, 4 of them a step
    for (const TrainState& state : states) {
      Trainer other(problem, data, with);
      other.restore(state);
      finish(other);
      expect_same(other.model(), whole.model());
    }
  }
}

// ---- how long

TEST(Trainer, EndsBehindTheStepsAskedFor) {
  const Split data = text();
  const Problem problem = gpt_problem(gpt());
  TrainOptions by_steps = options();
  by_steps.steps = 12;
  Trainer trainer(problem, data, by_steps);
  EXPECT_EQ(trainer.steps(), 12);
  EXPECT_EQ(trainer.epochs(), 3);
  std::vector<double> losses;
  std::vector<EpochEvent> epochs;
  std::vector<TrainState> states{trainer.state()};
  while (trainer.ending() == Ending::kNone) {
    const StepResult result = trainer.step();
    losses.push_back(result.step.loss);
    if (result.epoch) epochs.push_back(*result.epoch);
    states.push_back(trainer.state());
  }
  EXPECT_EQ(trainer.ending(), Ending::kFinished);
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[1].step, 10);
  EXPECT_EQ(epochs[2].step, 12);
  EXPECT_EQ(epochs[2].epoch, 3);
  EXPECT_NEAR(epochs[2].train.at("loss"), (losses[10] + losses[11]) / 2, 1e-6);
  EXPECT_EQ(epochs[2].validation.at("loss"),
            Evaluator(problem, data.test)(trainer.model()).metrics.at("loss"));
  for (const TrainState& state : states) {
    Trainer other(problem, data, by_steps);
    other.restore(state);
    finish(other);
    EXPECT_EQ(other.ending(), Ending::kFinished);
    expect_same(other.model(), trainer.model());
  }

  by_steps.steps = 15;
  Trainer whole(problem, data, by_steps);
  Trainer same(problem, data, options());
  finish(whole);
  finish(same);
  expect_same(whole.model(), same.model());
  by_steps.steps = 0;
  EXPECT_EQ(Trainer(problem, data, by_steps).ending(), Ending::kFinished);
  by_steps.steps = -1;
  EXPECT_THROW(Trainer(problem, data, by_steps), Error);
}

// ---- how good it is

TEST(Evaluator, CountsEveryTokenOfATextOnce) {
  const Problem problem = gpt_problem(gpt());
  const Params params = problem.init(Key(5));
  const Dataset data = text().test;  // 34 tokens: 6 windows, and one of 3 targets
  ASSERT_EQ(data.size(), 7);
  const Function inference = problem.inference;
  double loss = 0;
  std::int64_t right = 0;
  for (std::int64_t row = 0; row < data.size(); ++row) {
    std::vector<Tensor> inputs = params.values();
    inputs.push_back(data.inputs_of(row, 1).reshape({kContext}));
    const Tensor logits = interpret(inference, inputs).front();
    const Tensor targets = data.targets_of(row, 1);
    for (std::int64_t t = 0; t < (row < 6 ? 5 : 3); ++t) {
      const auto z = logits.values<float>().subspan(static_cast<std::size_t>(t * kVocabulary),
                                                    static_cast<std::size_t>(kVocabulary));
      double sum = 0;
      for (const float v : z) sum += std::exp(static_cast<double>(v));
      const auto target =
          static_cast<std::size_t>(targets.values<std::int32_t>()[static_cast<std::size_t>(t)]);
      loss += std::log(sum) - static_cast<double>(z[target]);
      right +=
          std::max_element(z.begin(), z.end()) - z.begin() == static_cast<std::ptrdiff_t>(target);
    }
  }
  const TestResult result = Evaluator(problem, data)(params);
  EXPECT_NEAR(result.metrics.at("loss"), loss / 33, 1e-6);
  EXPECT_NEAR(result.metrics.at("perplexity"), std::exp(loss / 33), 1e-5);
  EXPECT_NEAR(result.metrics.at("bits_per_token"), loss / 33 / std::log(2.0), 1e-6);
  EXPECT_DOUBLE_EQ(result.metrics.at("accuracy"), static_cast<double>(right) / 33);
}

TEST(Evaluator, BatchesOfATextChangeNoBit) {
  const Problem problem = char_lm_problem(char_lm());
  const Params params = problem.init(Key(5));
  Dataset data = windows_of(tokens(700, 4), kContext);  // more than two batches
  data.classes = kVocabulary;
  const TestResult result = Evaluator(problem, data)(params);
  // All logits at once.
  const Tensor logits = predict({problem.inference, params, ""}, data.inputs_of(0, data.size()));
  const TestResult whole = next_token_metrics(logits, data.targets_of(0, data.size()));
  for (const auto& [name, value] : whole.metrics) EXPECT_EQ(result.metrics.at(name), value) << name;
}

// ---- what it writes

TEST(TextSampler, DrawsByItsKeyAlone) {
  const auto expect_text = [](const Problem& problem) {
    const Params params = problem.init(Key(5));
    const TextSampler sampler(problem);
    const std::vector<std::int32_t> drawn = sampler(params, 2, 12, Key(1));
    EXPECT_EQ(drawn.size(), 12u);
    EXPECT_EQ(sampler(params, 2, 12, Key(1)), drawn);
    EXPECT_NE(sampler(params, 2, 12, Key(2)), drawn);
    const std::vector<std::int32_t> fewer = sampler(params, 2, 7, Key(1));
    EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), drawn.begin()));
  };
  expect_text(gpt_problem(gpt()));
  expect_text(char_lm_problem(char_lm()));
  EXPECT_THROW(TextSampler(mlp_problem(nn::mlp({2, 3}, relu))), Error);
}

TEST(TextSampler, WritesWhatItHasLearnt) {
  // One token follows another for certain.
  const auto cycle = [](std::int64_t n) {
    Dataset data = windows_of(
        Tensor::generate<std::int32_t>({n},
                                       [](std::span<std::int32_t> out) {
                                         for (std::size_t i = 0; i < out.size(); ++i)
                                           out[i] = static_cast<std::int32_t>(i) % kVocabulary;
                                       }),
        kContext, Kind::kShifted);
    data.classes = kVocabulary;
    return data;
  };
  TrainOptions longer = options();
  longer.epochs = 30;
  const Split data{cycle(100), {}, {}};
  Trainer trainer(gpt_problem(gpt(0)), data, longer);
  finish(trainer);
  const TextSampler sampler(trainer.problem());
  const std::vector<std::int32_t> drawn = sampler(trainer.model(), 3, 20, Key(1));
  for (std::size_t i = 0; i < drawn.size(); ++i)
    EXPECT_EQ(drawn[i], static_cast<std::int32_t>(4 + i) % kVocabulary) << i;
}

}  // namespace
}  // namespace limpid::train
