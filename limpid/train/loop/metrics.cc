#include "limpid/train/loop/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"

namespace limpid::train {
namespace {

constexpr std::int64_t kTop = 5;
constexpr const char* kTopName = "top_5_accuracy";

using Row = std::span<const float>;

void check(bool well, std::string_view what, const Tensor& outputs, const Tensor& targets) {
  if (!well)
    throw Error(ErrorCode::kShape,
                fmt::format("{}_metrics: outputs {} and targets {} do not match", what,
                            to_string(outputs.type()), to_string(targets.type())));
}

void check_columns(std::string_view what, const Tensor& outputs, const Tensor& targets) {
  check(outputs.shape().rank() == 2 && outputs.type() == targets.type(), what, outputs, targets);
}

Row row_of(const Tensor& matrix, std::int64_t row) {
  const auto columns = static_cast<std::size_t>(matrix.shape()[1]);
  return matrix.values<float>().subspan(static_cast<std::size_t>(row) * columns, columns);
}

void check_labels(std::string_view what, const Tensor& logits, const Tensor& labels) {
  check(logits.shape().rank() == 2 && labels.shape() == Shape{logits.shape()[0]}, what, logits,
        labels);
}

std::size_t label_of(std::string_view what, const Tensor& labels, std::int64_t row,
                     std::size_t classes) {
  const std::int32_t label = labels.values<std::int32_t>()[static_cast<std::size_t>(row)];
  if (label < 0 || static_cast<std::size_t>(label) >= classes)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}_metrics: row {} has label {}, expected 0 to {}", what, row, label,
                            static_cast<std::int64_t>(classes) - 1));
  return static_cast<std::size_t>(label);
}

// -log softmax(logits)[label], by f32 exp and log, which have the same bits everywhere: the metric
// may choose the best epoch.
double cross_entropy_of(Row logits, std::size_t label) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(arithmetic::exp(logit - largest));
  return static_cast<double>(arithmetic::log(static_cast<float>(sum))) -
         static_cast<double>(logits[label] - largest);
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

bool among_top(Row row, std::size_t label) {
  if (std::isnan(row[label])) return false;
  std::int64_t before = 0;
  for (std::size_t c = 0; c < row.size(); ++c)
    before += std::isnan(row[c]) || row[c] > row[label] || (row[c] == row[label] && c < label);
  return before < kTop;
}

// Counts per class.
struct Counts {
  std::int64_t right = 0, answers = 0, labels = 0;

  ClassScores scores() const {
    return {share(right, answers), share(right, labels), share(2 * right, answers + labels)};
  }
};

// Adds scores by class, and their means over the classes that count.
void add_scores(TestResult& result, const std::vector<Counts>& classes, bool only_seen) {
  ClassScores sum;
  std::int64_t seen = 0;
  for (const Counts& counts : classes) {
    const ClassScores s = counts.scores();
    result.per_class.push_back(s);
    if (only_seen && counts.answers + counts.labels == 0) continue;
    ++seen;
    sum.precision += s.precision;
    sum.recall += s.recall;
    sum.f1 += s.f1;
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(1, seen));
  result.metrics.set("macro_precision", sum.precision / count);
  result.metrics.set("macro_recall", sum.recall / count);
  result.metrics.set("macro_f1", sum.f1 / count);
}

// ---- ranks

// One example to be ranked: its score, and whether it is of the class.
struct Ranked {
  float score = 0;
  bool of_class = false;
};

struct Areas {
  double roc = 0, precision = 0;
};

// The areas under the two curves; nullopt unless some are of the class and some are not. Equal
// scores are one threshold.
std::optional<Areas> areas_of(std::vector<Ranked>& all) {
  // A score that is NaN is a mistake: the last of the class, the first of the others.
  for (Ranked& r : all)
    if (std::isnan(r.score))
      r.score = r.of_class ? -std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::infinity();
  std::sort(all.begin(), all.end(),
            [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
  const auto positives = static_cast<double>(
      std::count_if(all.begin(), all.end(), [](const Ranked& r) { return r.of_class; }));
  const double negatives = static_cast<double>(all.size()) - positives;
  if (positives == 0 || negatives == 0) return {};
  double right = 0, wrong = 0, pairs = 0, precision = 0;
  for (auto from = all.begin(); from != all.end();) {
    auto to = from;
    double right_here = 0;
    for (; to != all.end() && to->score == from->score; ++to) right_here += to->of_class;
    const double wrong_here = static_cast<double>(to - from) - right_here;
    // Pairs of a positive and a negative in the right order; equal scores are half right.
    pairs += wrong_here * (right + right_here / 2);
    right += right_here;
    wrong += wrong_here;
    precision += right_here * (right / (right + wrong));
    from = to;
  }
  return Areas{pairs / positives / negatives, precision / positives};
}

// Their means over the columns [first, columns) that have them.
template <class Rank>
void add_areas(TestResult& result, std::int64_t rows, std::size_t first, std::size_t columns,
               const Rank& rank) {
  Areas sum;
  std::int64_t count = 0;
  std::vector<Ranked> all(static_cast<std::size_t>(rows));
  for (std::size_t c = first; c < columns; ++c) {
    for (std::int64_t i = 0; i < rows; ++i) all[static_cast<std::size_t>(i)] = rank(i, c);
    const std::optional<Areas> areas = areas_of(all);
    if (!areas) continue;
    ++count;
    sum.roc += areas->roc;
    sum.precision += areas->precision;
  }
  const auto n = static_cast<double>(std::max<std::int64_t>(1, count));
  result.metrics.set("roc_auc", sum.roc / n);
  result.metrics.set("average_precision", sum.precision / n);
}

// softmax(logits), by f32 exp, which has the same bits everywhere; all NaN if a logit is.
std::vector<float> probabilities_of(Row logits) {
  std::vector<float> p(logits.begin(), logits.end());
  if (!prediction_of(logits)) {
    std::fill(p.begin(), p.end(), std::numeric_limits<float>::quiet_NaN());
    return p;
  }
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float& v : p) {
    v = arithmetic::exp(v - largest);
    sum += static_cast<double>(v);
  }
  for (float& v : p) v = static_cast<float>(static_cast<double>(v) / sum);
  return p;
}

void add_ranked(TestResult& result, const Tensor& logits, std::span<const std::int32_t> labels) {
  const std::int64_t rows = logits.shape()[0];
  const auto classes = static_cast<std::size_t>(logits.shape()[1]);
  struct Bin {
    double probabilities = 0;
    std::int64_t examples = 0, right = 0;
  };
  constexpr std::size_t kBins = 15;
  std::vector<Bin> bins(kBins);
  std::vector<float> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::vector<float> p = probabilities_of(row_of(logits, i));
    all.insert(all.end(), p.begin(), p.end());
    const std::optional<std::size_t> answer = prediction_of(p);
    if (!answer) continue;
    const auto confidence = static_cast<double>(p[*answer]);
    Bin& bin = bins[std::min(kBins - 1, static_cast<std::size_t>(confidence * kBins))];
    bin.probabilities += confidence;
    ++bin.examples;
    bin.right += static_cast<std::int64_t>(*answer) == labels[static_cast<std::size_t>(i)];
  }
  add_areas(result, rows, classes == 2 ? 1 : 0, classes, [&](std::int64_t i, std::size_t c) {
    return Ranked{all[static_cast<std::size_t>(i) * classes + c],
                  labels[static_cast<std::size_t>(i)] == static_cast<std::int32_t>(c)};
  });
  double distance = 0;
  for (const Bin& bin : bins)
    distance += std::fabs(bin.probabilities - static_cast<double>(bin.right));
  result.metrics.set("calibration_error",
                     distance / static_cast<double>(std::max<std::int64_t>(1, rows)));
}

// 1 - residual / total of one output.
double r2_of(const Tensor& predictions, const Tensor& targets, std::size_t output) {
  const std::int64_t rows = targets.shape()[0];
  double mean = 0;
  for (std::int64_t i = 0; i < rows; ++i) mean += static_cast<double>(row_of(targets, i)[output]);
  mean /= static_cast<double>(rows);
  double residual = 0;
  double total = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto target = static_cast<double>(row_of(targets, i)[output]);
    const double error = static_cast<double>(row_of(predictions, i)[output]) - target;
    residual += error * error;
    total += (target - mean) * (target - mean);
  }
  if (std::isnan(residual)) return residual;
  if (total == 0) return residual == 0 ? 1 : 0;
  return 1 - residual / total;
}

TargetScores target_scores(const Tensor& predictions, const Tensor& targets, std::size_t output) {
  const std::int64_t rows = targets.shape()[0];
  double squares = 0, absolute = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double error = static_cast<double>(row_of(predictions, i)[output]) -
                         static_cast<double>(row_of(targets, i)[output]);
    squares += error * error;
    absolute += std::fabs(error);
  }
  const auto count = static_cast<double>(rows);
  return {std::sqrt(squares / count), absolute / count, r2_of(predictions, targets, output)};
}

}  // namespace

std::optional<std::size_t> prediction_of(std::span<const float> logits) {
  if (std::any_of(logits.begin(), logits.end(), [](float v) { return std::isnan(v); })) return {};
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TestResult classification_metrics(const Tensor& logits, const Tensor& labels) {
  const DefaultFloatMode mode;
  check_labels("classification", logits, labels);
  const std::int64_t rows = logits.shape()[0];
  const auto classes = static_cast<std::size_t>(logits.shape()[1]);
  TestResult result;
  const bool readable = classes <= kMostConfusion;
  if (readable) result.confusion.assign(classes, std::vector<std::int64_t>(classes));
  std::vector<Counts> counts(classes);
  std::int64_t right = 0;
  std::int64_t near = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::size_t label = label_of("classification", labels, i, classes);
    const std::optional<std::size_t> answer = prediction_of(row_of(logits, i));
    ++counts[label].labels;
    if (!answer) continue;
    if (readable) ++result.confusion[label][*answer];
    ++counts[*answer].answers;
    if (answer == label) ++counts[label].right;
    right += answer == label;
    near += among_top(row_of(logits, i), label);
  }
  result.metrics.set("accuracy", share(right, rows));
  if (logits.shape()[1] > kTop) result.metrics.set(kTopName, share(near, rows));
  add_scores(result, counts, true);
  if (logits.shape()[1] <= kMostRanked) add_ranked(result, logits, labels.values<std::int32_t>());
  return result;
}

TestResult multilabel_metrics(const Tensor& logits, const Tensor& targets) {
  const DefaultFloatMode mode;
  check_columns("multilabel", logits, targets);
  const std::int64_t rows = logits.shape()[0];
  std::vector<Counts> counts(static_cast<std::size_t>(logits.shape()[1]));
  std::int64_t right = 0;
  std::int64_t exact = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t right_here = 0;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const float logit = row_of(logits, i)[c];
      const bool given = logit > 0;
      const bool wanted = row_of(targets, i)[c] > 0.5f;
      counts[c].answers += given;
      counts[c].labels += wanted;
      counts[c].right += given && wanted;
      right_here += given == wanted && !std::isnan(logit);
    }
    right += right_here;
    exact += right_here == logits.shape()[1];
  }
  TestResult result;
  result.metrics.set("accuracy", share(right, logits.elements()));
  result.metrics.set("exact_match", share(exact, rows));
  add_scores(result, counts, false);
  if (logits.shape()[1] <= kMostRanked)
    add_areas(result, rows, 0, counts.size(), [&](std::int64_t i, std::size_t c) {
      return Ranked{row_of(logits, i)[c], row_of(targets, i)[c] > 0.5f};
    });
  return result;
}

TestResult regression_metrics(const Tensor& predictions, const Tensor& targets) {
  const DefaultFloatMode mode;
  check_columns("regression", predictions, targets);
  double squares = 0;
  double absolute = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(targets.elements()); ++i) {
    const double error = static_cast<double>(predictions.values<float>()[i]) -
                         static_cast<double>(targets.values<float>()[i]);
    squares += error * error;
    absolute += std::fabs(error);
  }
  const auto elements = static_cast<double>(std::max<std::int64_t>(1, targets.elements()));
  const auto outputs = static_cast<std::size_t>(targets.shape()[1]);
  double r2 = 0;
  if (targets.elements() > 0)
    for (std::size_t o = 0; o < outputs; ++o) r2 += r2_of(predictions, targets, o);
  TestResult result;
  result.metrics.set("rmse", std::sqrt(squares / elements));
  result.metrics.set("mae", absolute / elements);
  result.metrics.set("r2", r2 / static_cast<double>(std::max<std::size_t>(1, outputs)));
  if (outputs > 1 && targets.shape()[0] > 0)
    for (std::size_t o = 0; o < outputs; ++o)
      result.per_target.push_back(target_scores(predictions, targets, o));
  return result;
}

TestResult next_token_metrics(const Tensor& logits, const Tensor& tokens) {
  check_labels("next_token", logits, tokens);
  TokenScores scores;
  append_scores(scores, logits, tokens, logits.shape()[0]);
  NextTokenMetrics metrics;
  metrics.add(scores);
  return metrics.result();
}

void append_scores(TokenScores& scores, const Tensor& logits, const Tensor& tokens,
                   std::int64_t count) {
  const DefaultFloatMode mode;
  const Shape& shape = logits.shape();
  check(shape.rank() > 0 && tokens.shape() == shape.erase(shape.rank() - 1), "next_token", logits,
        tokens);
  const Tensor rows = logits.reshape({tokens.elements(), shape.back()});
  const Tensor labels = tokens.reshape({tokens.elements()});
  for (std::int64_t i = 0; i < count; ++i) {
    const Row row = row_of(rows, i);
    const std::size_t token = label_of("next_token", labels, i, row.size());
    scores.losses.push_back(cross_entropy_of(row, token));
    scores.right += prediction_of(row) == token;
  }
}

void NextTokenMetrics::add(const TokenScores& scores) {
  const DefaultFloatMode mode;
  for (const double loss : scores.losses) loss_ += loss;
  rows_ += static_cast<std::int64_t>(scores.losses.size());
  right_ += scores.right;
}

TestResult NextTokenMetrics::result() const {
  const DefaultFloatMode mode;
  const double loss = loss_ / static_cast<double>(std::max<std::int64_t>(1, rows_));
  TestResult result;
  result.metrics.set("perplexity", static_cast<double>(arithmetic::exp(static_cast<float>(loss))));
  result.metrics.set("bits_per_token", loss / std::numbers::ln2);
  result.metrics.set("accuracy", share(right_, rows_));
  return result;
}

TestResult metrics_of(Task task, const Tensor& outputs, const Tensor& targets) {
  switch (task) {
    case Task::kClassification:
      return classification_metrics(outputs, targets);
    case Task::kMultiLabel:
      return multilabel_metrics(outputs, targets);
    case Task::kRegression:
      return regression_metrics(outputs, targets);
    case Task::kNextToken:
      return next_token_metrics(outputs, targets);
  }
  return {};
}

std::vector<std::string> metric_names(Task task, std::int64_t outputs) {
  std::vector<std::string> names{"loss", "accuracy"};
  const auto add = [&](std::initializer_list<const char*> more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  switch (task) {
    case Task::kClassification:
      if (outputs > kTop) add({kTopName});
      add({"macro_precision", "macro_recall", "macro_f1"});
      if (outputs <= kMostRanked) add({"roc_auc", "average_precision", "calibration_error"});
      return names;
    case Task::kMultiLabel:
      add({"exact_match", "macro_precision", "macro_recall", "macro_f1"});
      if (outputs <= kMostRanked) add({"roc_auc", "average_precision"});
      return names;
    case Task::kRegression:
      return {"loss", "rmse", "mae", "r2"};
    case Task::kNextToken:
      return {"loss", "perplexity", "bits_per_token", "accuracy"};
  }
  return {};
}

bool larger_is_better(std::string_view metric) {
  return metric != "loss" && metric != "rmse" && metric != "mae" && metric != "perplexity" &&
         metric != "bits_per_token" && metric != "calibration_error";
}

}  // namespace limpid::train
