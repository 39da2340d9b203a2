// Evaluation divided among ranks: each runs the model on only its own examples, and every metric
// has the bits of one rank.
#include "limpid/train/loop/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/data/text/text_windows.h"
#include "limpid/distribute/in_process.h"
#include "limpid/inspect/op_example.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

using distribute::Communicator;

// The data as a rank may have it: of other ranks' examples only the targets exist.
using OwnExamples = std::function<Dataset(const Dataset&, distribute::ShardRange)>;

Dataset without_other_inputs(const Dataset& data, distribute::ShardRange own) {
  Dataset mine = data;
  const std::int64_t columns = data.inputs.shape()[1];
  mine.inputs = Tensor::generate<float>(data.inputs.shape(), [&](std::span<float> out) {
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
    const auto values = data.inputs.values<float>();
    std::copy(values.begin() + own.begin * columns, values.begin() + own.end * columns,
              out.begin() + own.begin * columns);
  });
  return mine;
}

Dataset without_other_tokens(const Dataset& data, distribute::ShardRange own) {
  Dataset mine = data;
  const TokenWindows& windows = *data.windows;
  const bool sliding = windows.kind == TokenWindows::Kind::kSliding;
  const std::int64_t stride = sliding ? 1 : windows.context;
  const std::int64_t first = own.begin * stride;
  const std::int64_t last =
      std::min((own.end - 1) * stride + windows.context + 1, windows.tokens.elements());
  const Tensor& tokens = windows.tokens;
  mine.windows->tokens =
      Tensor::generate<std::int32_t>(tokens.shape(), [&](std::span<std::int32_t> out) {
        std::fill(out.begin(), out.end(), 0);
        const auto values = tokens.values<std::int32_t>();
        if (own.size() > 0)
          std::copy(values.begin() + first, values.begin() + last, out.begin() + first);
      });
  return mine;
}

void expect_same_metrics(const TestResult& a, const TestResult& b) {
  EXPECT_EQ(a.metrics.names(), b.metrics.names());
  EXPECT_EQ(a.metrics.values(), b.metrics.values());
}

void expect_same_result(const TestResult& a, const TestResult& b) {
  expect_same_metrics(a, b);
  EXPECT_EQ(a.confusion, b.confusion);
  ASSERT_EQ(a.per_class.size(), b.per_class.size());
  for (std::size_t c = 0; c < a.per_class.size(); ++c) {
    EXPECT_EQ(a.per_class[c].precision, b.per_class[c].precision);
    EXPECT_EQ(a.per_class[c].recall, b.per_class[c].recall);
    EXPECT_EQ(a.per_class[c].f1, b.per_class[c].f1);
  }
}

void expect_divided(const Problem& problem, const Dataset& data, const OwnExamples& of_rank) {
  Params params = problem.init(Key(3));
  params.merge("", problem.non_trainable);
  // Confident predictions: losses of all magnitudes, whose sum depends on the order.
  for (const auto& [name, value] : problem.init(Key(3))) {
    const Tensor& initial = value;
    params.set(name, Tensor::generate<float>(initial.shape(), [&](std::span<float> out) {
                 const auto values = initial.values<float>();
                 std::transform(values.begin(), values.end(), out.begin(),
                                [](float v) { return 8 * v; });
               }));
  }
  const TestResult alone = Evaluator(problem, data)(params);
  for (const int size : {1, 2, 3, 7, 16})
    distribute::run_in_process(size, [&](Communicator& ranks) {
      const auto own = distribute::shards_of(data.size(), ranks.size(), ranks.rank());
      Evaluator evaluate(problem, of_rank(data, own), nullptr, &ranks);
      for (int time = 0; time < 2; ++time) {
        const TestResult result = evaluate(params);
        SCOPED_TRACE(ranks.name(ranks.rank()) + " of " + std::to_string(size));
        if (ranks.rank() == 0)
          expect_same_result(result, alone);
        else
          expect_same_metrics(result, alone);
      }
    });
}

// Row counts that give the last ranks none, one each, or more than a batch.
constexpr std::int64_t kExamples[] = {1, 5, 16, 700};
constexpr std::int64_t kColumns = 6, kOutputs = 7;

Dataset numbers(Task task, std::int64_t rows, const Tensor& targets) {
  Dataset data;
  data.name = "numbers";
  data.task = task;
  data.inputs = Tensor::generate<float>({rows, kColumns}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] =
          (Key(1).uniform(i) - 0.5f) * std::pow(10.0f, static_cast<float>(i / kColumns % 9) - 4);
  });
  data.targets = targets;
  return data;
}

TEST(Evaluator, RefusesExamplesOfAnotherSize) {
  const Problem problem = mlp_problem(nn::mlp({kColumns + 1, 9, kOutputs}, relu));
  Dataset data = numbers(Task::kClassification, 2, Tensor::zeros({Dtype::kI32, {2}}));
  data.classes = kOutputs;
  expect_refused(ErrorCode::kShape, [&] { Evaluator(problem, data); });
}

TEST(EvaluatorOfRanks, Classes) {
  const Problem problem = mlp_problem(nn::mlp({kColumns, 9, kOutputs}, relu));
  for (const std::int64_t rows : kExamples) {
    Dataset data = numbers(Task::kClassification, rows,
                           Tensor::generate<std::int32_t>({rows}, [](std::span<std::int32_t> out) {
                             for (std::size_t i = 0; i < out.size(); ++i)
                               out[i] = static_cast<std::int32_t>(Key(5).below(kOutputs, i));
                           }));
    data.classes = kOutputs;
    expect_divided(problem, data, without_other_inputs);
  }
}

TEST(EvaluatorOfRanks, LabelsAndNumbers) {
  for (const Task task : {Task::kMultiLabel, Task::kRegression}) {
    const Problem problem = mlp_problem(nn::mlp({kColumns, 9, kOutputs}, relu), task);
    for (const std::int64_t rows : kExamples)
      expect_divided(
          problem,
          numbers(task, rows, random_tensor({Dtype::kF32, {rows, kOutputs}}, Key(2), 0, 1)),
          without_other_inputs);
  }
}

TEST(EvaluatorOfRanks, Tokens) {
  constexpr std::int64_t kTokens = 7, kContext = 5;
  const Problem gpt = gpt_problem(
      {.vocabulary = kTokens, .context = kContext, .layers = 1, .width = 8, .heads = 2});
  const Problem char_lm =
      char_lm_problem({kTokens, kContext, 3, nn::mlp({kContext * 3, 8, kTokens}, relu)});
  const auto text = [&](std::int64_t length, TokenWindows::Kind kind) {
    Dataset data = windows_of(Tensor::generate<std::int32_t>(
                                  {length},
                                  [](std::span<std::int32_t> out) {
                                    for (std::size_t i = 0; i < out.size(); ++i)
                                      out[i] = static_cast<std::int32_t>(Key(6).below(kTokens, i));
                                  }),
                              kContext, kind);
    data.classes = kTokens;
    return data;
  };
  for (const std::int64_t length : {6, 29, 3004}) {  // the last window may be shorter
    expect_divided(gpt, text(length, TokenWindows::Kind::kTiled), without_other_tokens);
    expect_divided(char_lm, text(length, TokenWindows::Kind::kSliding), without_other_tokens);
  }
}

}  // namespace
}  // namespace limpid::train
