// Metrics against numbers worked out by hand; they are scikit-learn's definitions.
#include "limpid/train/loop/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "limpid/core/error.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

void expect_class(const ClassScores& got, double precision, double recall, double f1) {
  EXPECT_DOUBLE_EQ(got.precision, precision);
  EXPECT_DOUBLE_EQ(got.recall, recall);
  EXPECT_DOUBLE_EQ(got.f1, f1);
}

TEST(Metrics, Classification) {
  // The predictions are 0, 1, 0 (the first of equals), 2, 0, 2.
  const Tensor logits =
      Tensor::from<float>({6, 3}, {2, 1, 0, 0, 3, 1, 1, 1, 0, 0, 0, 5, 4, 0, 1, 0, 2, 3});
  const Tensor labels = Tensor::from<std::int32_t>({6}, {0, 1, 1, 2, 2, 1});
  const TestResult result = classification_metrics(logits, labels);
  EXPECT_EQ(result.confusion,
            (std::vector<std::vector<std::int64_t>>{{1, 0, 0}, {1, 1, 1}, {1, 0, 1}}));
  ASSERT_EQ(result.per_class.size(), 3u);
  expect_class(result.per_class[0], 1.0 / 3, 1, 0.5);
  expect_class(result.per_class[1], 1, 1.0 / 3, 0.5);
  expect_class(result.per_class[2], 0.5, 0.5, 0.5);
  EXPECT_DOUBLE_EQ(result.metrics.at("accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(result.metrics.at("macro_precision"), (1.0 / 3 + 1 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(result.metrics.at("macro_recall"), (1 + 1.0 / 3 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(result.metrics.at("macro_f1"), 0.5);
  // scikit-learn's roc_auc_score(multi_class="ovr") and average_precision_score.
  EXPECT_NEAR(result.metrics.at("roc_auc"), 0.7666666666666666, 1e-12);
  EXPECT_NEAR(result.metrics.at("average_precision"), 0.7222222222222222, 1e-12);
}

// Of two classes, and equal scores: scikit-learn's roc_auc_score and average_precision_score.
TEST(Metrics, AreasOfTwoClasses) {
  const auto metrics = [](const std::vector<float>& scores,
                          const std::vector<std::int32_t>& labels) {
    std::vector<float> logits;
    for (const float s : scores) logits.insert(logits.end(), {0, s});
    const auto rows = static_cast<std::int64_t>(labels.size());
    return classification_metrics(Tensor::from<float>({rows, 2}, logits),
                                  Tensor::from<std::int32_t>({rows}, labels))
        .metrics;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Numbers six = metrics({.1f, .4f, .35f, .8f, .4f, .7f}, {0, 0, 1, 1, 1, 0});
  EXPECT_NEAR(six.at("roc_auc"), 0.6111111111111112, 1e-12);
  EXPECT_NEAR(six.at("average_precision"), 0.7, 1e-12);
  EXPECT_EQ(metrics({1, 2}, {0, 1}).at("roc_auc"), 1);
  EXPECT_EQ(metrics({1, nan}, {0, 1}).at("roc_auc"), 0) << "NaN is a mistake";
  EXPECT_EQ(metrics({nan, 2}, {0, 1}).at("roc_auc"), 0) << "NaN is a mistake";
  EXPECT_EQ(metrics({1, 2}, {1, 1}).at("roc_auc"), 0) << "of one class there is no area";
}

TEST(Metrics, CalibrationIsTheDistanceOfProbabilityAndAccuracy) {
  const auto error = [](const std::vector<std::int32_t>& labels) {
    // The prediction is the second class, with a probability of 3 / 4.
    std::vector<float> logits;
    for (int i = 0; i < 4; ++i) logits.insert(logits.end(), {0, std::log(3.0f)});
    return classification_metrics(Tensor::from<float>({4, 2}, logits),
                                  Tensor::from<std::int32_t>({4}, labels))
        .metrics.at("calibration_error");
  };
  EXPECT_NEAR(error({1, 1, 1, 0}), 0, 1e-6);
  EXPECT_NEAR(error({0, 0, 0, 0}), 0.75, 1e-6);
  EXPECT_NEAR(error({1, 1, 1, 1}), 0.25, 1e-6);
}

TEST(Metrics, OfSeveralTargetsEachHasItsOwn) {
  const Tensor predictions = Tensor::from<float>({2, 2}, {1, 5, 3, 9});
  const Tensor targets = Tensor::from<float>({2, 2}, {1, 6, 3, 6});
  const TestResult result = regression_metrics(predictions, targets);
  ASSERT_EQ(result.per_target.size(), 2u);
  EXPECT_EQ(result.per_target[0].rmse, 0);
  EXPECT_EQ(result.per_target[0].r2, 1);
  EXPECT_DOUBLE_EQ(result.per_target[1].rmse, std::sqrt(5.0));
  EXPECT_EQ(result.per_target[1].mae, 2);
  EXPECT_TRUE(
      regression_metrics(predictions.reshape({4, 1}), targets.reshape({4, 1})).per_target.empty());
}

TEST(Metrics, ClassesThatNobodyMeetsDoNotCount) {
  const Tensor logits = Tensor::from<float>({2, 4}, {1, 0, 0, 0, 0, 1, 0, 0});
  const TestResult result = classification_metrics(logits, Tensor::from<std::int32_t>({2}, {0, 0}));
  expect_class(result.per_class[0], 1, 0.5, 2.0 / 3);
  expect_class(result.per_class[1], 0, 0, 0);
  expect_class(result.per_class[3], 0, 0, 0);
  EXPECT_DOUBLE_EQ(result.metrics.at("macro_f1"), 1.0 / 3);
  const TestResult one =
      classification_metrics(logits.rows(0, 1), Tensor::from<std::int32_t>({1}, {0}));
  EXPECT_EQ(one.metrics.at("macro_f1"), 1);
}

TEST(Metrics, NextToken) {
  const float l2 = std::log(2.0f), l5 = std::log(5.0f);
  // Probabilities (1, 2, 5) / 8 and (1, 1, 2) / 4; a large logit overflows nothing.
  const Tensor logits = Tensor::from<float>({3, 3}, {0, l2, l5, 0, 0, l2, 1e38f, -1e38f, 0});
  const TestResult result = next_token_metrics(logits, Tensor::from<std::int32_t>({3}, {1, 2, 0}));
  const double loss = (std::log(8 / 2.) + std::log(4 / 2.)) / 3;
  EXPECT_NEAR(result.metrics.at("perplexity"), std::exp(loss), 1e-6);
  EXPECT_NEAR(result.metrics.at("bits_per_token"), loss / std::log(2.0), 1e-6);
  EXPECT_DOUBLE_EQ(result.metrics.at("accuracy"), 2 / 3.);
  EXPECT_TRUE(result.confusion.empty());
  EXPECT_TRUE(result.per_class.empty());
  TokenScores first, second;  // the last row of the second part does not count
  append_scores(first, logits.rows(0, 1).reshape({1, 1, 3}),
                Tensor::from<std::int32_t>({1, 1}, {1}), 1);
  append_scores(second, logits.rows(1, 2), Tensor::from<std::int32_t>({2}, {2, 0}), 1);
  NextTokenMetrics parts;
  parts.add(first);
  parts.add(second);
  const TestResult two =
      next_token_metrics(logits.rows(0, 2), Tensor::from<std::int32_t>({2}, {1, 2}));
  EXPECT_EQ(parts.result().metrics.at("perplexity"), two.metrics.at("perplexity"));
  EXPECT_EQ(parts.result().metrics.at("accuracy"), two.metrics.at("accuracy"));
  NextTokenMetrics one;
  one.add(first);
  EXPECT_NEAR(one.result().metrics.at("perplexity"), 4, 1e-6);
  EXPECT_THROW(next_token_metrics(logits, Tensor::from<std::int32_t>({3}, {1, 3, 0})), Error);
  EXPECT_THROW(next_token_metrics(logits, Tensor::from<std::int32_t>({2}, {1, 0})), Error);
}

// As of classes: the first of the largest is the prediction.
TEST(Metrics, ATokenBesideAnEarlierOneOfTheSameLogitIsNotPredicted) {
  const Tensor logits = Tensor::from<float>({2, 3}, {1, 4, 4, 4, 1, 4});
  EXPECT_EQ(
      next_token_metrics(logits, Tensor::from<std::int32_t>({2}, {2, 0})).metrics.at("accuracy"),
      0.5);
}

TEST(Metrics, TopFive) {
  // Label 6 is the fifth, the sixth, after five equal ones, no number, and after five of these.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor logits = Tensor::from<float>({5, 7}, {1,   2,    3,   4,   9,   8, 2.5f,  //
                                                     1,   2.6f, 3,   4,   9,   8, 2.5f,  //
                                                     1,   1,    1,   1,   1,   0, 1,     //
                                                     0,   0,    0,   0,   0,   0, nan,   //
                                                     nan, nan,  nan, nan, nan, 0, 1});
  const TestResult result =
      classification_metrics(logits, Tensor::from<std::int32_t>({5}, {6, 6, 6, 6, 6}));
  EXPECT_DOUBLE_EQ(result.metrics.at("top_5_accuracy"), 0.2);
  // NaN is no class.
  EXPECT_DOUBLE_EQ(result.metrics.at("accuracy"), 0);
}

// Of five classes every one is among the first five.
TEST(Metrics, OfFiveClassesThereIsNoTopFive) {
  for (const std::int64_t classes : {5, 6}) {
    const Tensor logits = Tensor::zeros({Dtype::kF32, {2, classes}});
    const Numbers metrics =
        classification_metrics(logits, Tensor::from<std::int32_t>({2}, {0, 1})).metrics;
    EXPECT_EQ(metrics.find("top_5_accuracy") != nullptr, classes > 5);
  }
}

TEST(Metrics, MultiLabel) {
  const Tensor logits = Tensor::from<float>({3, 2}, {1, -1, 2, 3, -1, 0});
  const Tensor targets = Tensor::from<float>({3, 2}, {1, 0, 0, 1, 1, 1});
  const TestResult result = multilabel_metrics(logits, targets);
  EXPECT_DOUBLE_EQ(result.metrics.at("accuracy"), 3.0 / 6);
  EXPECT_DOUBLE_EQ(result.metrics.at("exact_match"), 1.0 / 3);
  expect_class(result.per_class[0], 0.5, 0.5, 0.5);
  expect_class(result.per_class[1], 1, 0.5, 2.0 / 3);
  EXPECT_DOUBLE_EQ(result.metrics.at("macro_f1"), (0.5 + 2.0 / 3) / 2);
  EXPECT_TRUE(result.confusion.empty());
  // Unlike a class, a label that nobody meets counts as 0.
  const Tensor wider_logits = Tensor::from<float>({3, 3}, {1, -1, -1, 2, 3, -1, -1, 0, -1});
  const Tensor wider_targets = Tensor::from<float>({3, 3}, {1, 0, 0, 0, 1, 0, 1, 1, 0});
  const TestResult wider = multilabel_metrics(wider_logits, wider_targets);
  expect_class(wider.per_class[2], 0, 0, 0);
  EXPECT_DOUBLE_EQ(wider.metrics.at("macro_f1"), (0.5 + 2.0 / 3) / 3);
}

TEST(Metrics, APredictionIsTheFirstLargest) {
  EXPECT_EQ(prediction_of(std::vector<float>{1, 3, 3}), 1u);
}

TEST(Metrics, NanIsNoClass) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(prediction_of(std::vector<float>{1, nan, 3}));
  EXPECT_FALSE(prediction_of(std::vector<float>{nan, nan}));
  const Tensor logits = Tensor::from<float>({3, 2}, {nan, nan, nan, 1, 1, 0});
  const Tensor labels = Tensor::from<std::int32_t>({3}, {0, 0, 0});
  const TestResult classes = classification_metrics(logits, labels);
  EXPECT_DOUBLE_EQ(classes.metrics.at("accuracy"), 1.0 / 3);
  EXPECT_EQ(classes.confusion, (std::vector<std::vector<std::int64_t>>{{1, 0}, {0, 0}}));
  EXPECT_DOUBLE_EQ(next_token_metrics(logits, labels).metrics.at("accuracy"), 1.0 / 3);
  const Tensor targets = Tensor::from<float>({3, 2}, {0, 0, 0, 1, 1, 0});
  EXPECT_DOUBLE_EQ(multilabel_metrics(logits, targets).metrics.at("accuracy"), 0.5);
  EXPECT_TRUE(
      std::isnan(regression_metrics(logits, Tensor::zeros(logits.type())).metrics.at("r2")));
}

TEST(Metrics, HalfALabelIsNone) {
  const Tensor logits = Tensor::from<float>({1, 2}, {-1, -1});
  const Tensor targets = Tensor::from<float>({1, 2}, {0.5f, 0.5f});
  EXPECT_EQ(multilabel_metrics(logits, targets).metrics.at("accuracy"), 1);
}

TEST(Metrics, Regression) {
  const Tensor predictions = Tensor::from<float>({4, 2}, {1, 10, 2, 20, 4, 20, 3, 50});
  const Tensor targets = Tensor::from<float>({4, 2}, {1, 12, 3, 18, 3, 24, 5, 46});
  const TestResult result = regression_metrics(predictions, targets);
  EXPECT_DOUBLE_EQ(result.metrics.at("rmse"), std::sqrt(46.0 / 8));
  EXPECT_DOUBLE_EQ(result.metrics.at("mae"), 2);
  EXPECT_DOUBLE_EQ(result.metrics.at("r2"), ((1 - 6.0 / 8) + (1 - 40.0 / 660)) / 2);
}

TEST(Metrics, R2OfTargetsThatDoNotVary) {
  const Tensor targets = Tensor::from<float>({2, 1}, {3, 3});
  EXPECT_EQ(regression_metrics(targets, targets).metrics.at("r2"), 1);
  EXPECT_EQ(regression_metrics(Tensor::from<float>({2, 1}, {3, 4}), targets).metrics.at("r2"), 0);
}

// A sum in f32 would lose the small ones.
TEST(Metrics, SumsAreInF64) {
  const std::int64_t rows = 1 << 16;
  const Tensor targets = Tensor::zeros({Dtype::kF32, {rows, 1}});
  const Tensor predictions = Tensor::generate<float>({rows, 1}, [](std::span<float> out) {
    std::fill(out.begin(), out.end(), 1e-4f);
    out[0] = 1e4f;
  });
  const double exact = (1e4 + static_cast<double>(1e-4f) * (rows - 1)) / rows;
  EXPECT_NEAR(regression_metrics(predictions, targets).metrics.at("mae"), exact, 1e-14);
}

TEST(Metrics, NamesAreWhatEvaluationsGive) {
  const Tensor seven = Tensor::zeros({Dtype::kF32, {2, 7}});
  const Tensor labels = Tensor::zeros({Dtype::kI32, {2}});
  for (const Task task :
       {Task::kClassification, Task::kMultiLabel, Task::kRegression, Task::kNextToken}) {
    const bool classes = task == Task::kClassification || task == Task::kNextToken;
    std::vector<std::string> names =
        metrics_of(task, seven, classes ? labels : seven).metrics.names();
    names.insert(names.begin(), "loss");
    EXPECT_EQ(names, metric_names(task, 7));
  }
  EXPECT_EQ(metric_names(Task::kClassification, 5).size(), 8u);
  EXPECT_EQ(metric_names(Task::kClassification, kMostRanked + 1).size(), 6u);
}

// The best epoch is the one with the largest score, or the smallest loss.
TEST(Metrics, SomeAreBetterSmaller) {
  for (const char* name :
       {"loss", "rmse", "mae", "perplexity", "bits_per_token", "calibration_error"})
    EXPECT_FALSE(larger_is_better(name)) << name;
  for (const char* name :
       {"accuracy", "top_5_accuracy", "exact_match", "macro_f1", "roc_auc", "r2"})
    EXPECT_TRUE(larger_is_better(name)) << name;
}

TEST(Metrics, RefusesWhatDoesNotFit) {
  const Tensor two = Tensor::zeros({Dtype::kF32, {2, 3}});
  const Tensor other = Tensor::zeros({Dtype::kF32, {2, 2}});
  const Tensor row = Tensor::zeros({Dtype::kF32, {2}}), labels = Tensor::zeros({Dtype::kI32, {2}});
  const Tensor more_labels = Tensor::zeros({Dtype::kI32, {3}});
  for (const std::int32_t label : {3, -1})
    expect_refused(ErrorCode::kInvalidArgument, [&] {
      classification_metrics(two, Tensor::from<std::int32_t>({2}, {0, label}));
    });
  TokenScores scores;
  for (const std::function<void()>& code : std::vector<std::function<void()>>{
           [&] { classification_metrics(two, more_labels); },
           [&] { classification_metrics(row, labels); },
           [&] { metrics_of(Task::kMultiLabel, two, other); },
           [&] { metrics_of(Task::kRegression, two, other); },
           [&] { multilabel_metrics(row, row); }, [&] { regression_metrics(row, row); },
           [&] {
             regression_metrics(two, Tensor::zeros({Dtype::kF32, {3, 2}}));
           },
           [&] { append_scores(scores, two, more_labels, 1); },
           [&] { append_scores(scores, Tensor::scalar(1.0f), labels, 1); }})
    expect_refused(ErrorCode::kShape, code);
}

TEST(Metrics, OfNothingAreNumbers) {
  const Tensor none = Tensor::zeros({Dtype::kF32, {0, 7}}),
               labels = Tensor::zeros({Dtype::kI32, {0}});
  for (const Task task :
       {Task::kClassification, Task::kMultiLabel, Task::kRegression, Task::kNextToken}) {
    const bool classes = task == Task::kClassification || task == Task::kNextToken;
    const TestResult result = metrics_of(task, none, classes ? labels : none);
    for (const auto& [name, value] : result.metrics)
      EXPECT_EQ(value, name == "perplexity" ? 1 : 0) << name;
  }
}

TEST(Metrics, ConfuseNoMoreClassesThanPeopleRead) {
  for (const std::int64_t classes : {128, 129, 20'000}) {
    const TestResult result =
        classification_metrics(Tensor::zeros({Dtype::kF32, {3, classes}}),
                               Tensor::from<std::int32_t>({3}, std::vector<std::int32_t>{0, 1, 0}));
    EXPECT_EQ(result.confusion.size(), classes == 128 ? 128U : 0U);
    EXPECT_EQ(result.per_class.size(), static_cast<std::size_t>(classes));
    EXPECT_EQ(result.metrics.at("accuracy"), 2.0 / 3);
  }
}

}  // namespace
}  // namespace limpid::train
