// Metrics: how good a model's outputs are, beside its loss. Everything is computed in f64 (exp and
// log in f32), sums over examples in their order and, inside an example, over its outputs in
// theirs. Leans on data and on events.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/tensor.h"
#include "limpid/data/dataset.h"
#include "limpid/train/events.h"

namespace limpid::train {

// Of classification: logits f32 [N, classes] against labels i32 [N]. The answer is the place of the
// largest logit, the first one among equals, or of the first NaN.
//
//   accuracy         share of the examples whose answer is their label
//   top_5_accuracy   share of those with fewer than 5 logits before the label's, equal ones
//   counting
//                    where they stand before it; only where there are more than 5 classes
//   macro_precision, macro_recall, macro_f1
//                    means over the classes that are the label or the answer of some example
//
// confusion is [label][answer], up to kMostConfusion classes; per_class has for each class
// precision = right answers / answers, recall = right answers / labels and f1 = 2 right answers /
// (answers + labels), 0 where the divisor is 0. These are scikit-learn's definitions with
// zero_division=0. Without examples every metric is 0.
inline constexpr std::size_t kMostConfusion = 128;  // more rows and columns nobody reads
TestResult classification_metrics(const Tensor& logits, const Tensor& labels);

// Of multi-label classification: logits f32 [N, labels] against targets f32 [N, labels]. A label is
// given where its logit is above 0, which is a probability above 0.5, and is right where the target
// is above 0.5.
//
//   accuracy      share of all labels that are given or withheld rightly (1 - Hamming loss)
//   exact_match   share of the examples all labels of which are
//   macro_precision, macro_recall, macro_f1
//
// per_class as above, a label for a class; macro means are over all labels.
TestResult multilabel_metrics(const Tensor& logits, const Tensor& targets);

// Of regression: predictions f32 [N, outputs] against targets f32 [N, outputs].
//
//   rmse   root of the mean of (prediction - target)^2 over all elements
//   mae    mean of |prediction - target| over all elements
//   r2     mean over the outputs of 1 - sum (prediction - target)^2 / sum (target - mean)^2, where
//          the divisor is 0 being 1 for perfect predictions and 0 for others
//
// These are scikit-learn's definitions (r2_score with multioutput="uniform_average").
TestResult regression_metrics(const Tensor& predictions, const Tensor& targets);

// Of tokens that follow others: logits f32 [N, tokens] against tokens i32 [N].
//
//   perplexity       e^loss, where `loss` is the mean cross-entropy, without label smoothing
//   bits_per_token   loss / ln 2
//   accuracy         as of classification
TestResult next_token_metrics(const Tensor& logits, const Tensor& tokens);

// What some rows give.
struct TokenScores {
  std::vector<double> losses;  // the cross-entropy of each
  std::int64_t right = 0;      // how many of them have the right answer
};
// Adds those of rows [0, count) of logits f32 [..., tokens] and tokens i32 [...], counted over the
// leading axes. Throws kShape or kDtype.
void append_scores(TokenScores& scores, const Tensor& logits, const Tensor& tokens,
                   std::int64_t count);

// The metrics of rows that come part by part: the bits are those of all rows at once.
class NextTokenMetrics {
 public:
  void add(const TokenScores& scores);
  TestResult result() const;

 private:
  double loss_ = 0;
  std::int64_t rows_ = 0, right_ = 0;
};

// The metrics of the task. Throws kShape or kDtype where outputs and targets are not as above.
TestResult metrics_of(Task task, const Tensor& outputs, const Tensor& targets);

// The names of what an evaluation of the task gives: "loss", then those above. `outputs` is the
// number of classes, labels or numbers.
std::vector<std::string> metric_names(Task task, std::int64_t outputs);
// Accuracies, scores and r2; not losses, errors and what is made of them.
bool larger_is_better(std::string_view metric);

}  // namespace limpid::train
