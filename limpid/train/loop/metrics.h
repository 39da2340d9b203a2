// Metrics of a model's outputs, in addition to the loss. Computed in f64 (exp and log in f32); sums
// are over the examples in order, and within an example over its outputs in order. Depends on data
// and events.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/tensor.h"
#include "limpid/data/dataset.h"
#include "limpid/train/log/events.h"

namespace limpid::train {

// The class that the logits of an example predict: the index of the largest one, the first of equal
// ones. None if a logit is NaN: then every metric counts the example as wrong.
std::optional<std::size_t> prediction_of(std::span<const float> logits);

// Classification: logits f32 [N, classes], labels i32 [N]; predictions are those of
// prediction_of().
//
//   accuracy         share of the examples whose prediction is the label
//   top_5_accuracy   share of the examples whose label is among the 5 largest logits (of equal
//                    logits, the lower class is first); only with more than 5 classes
//   macro_precision, macro_recall, macro_f1
//                    means over the classes that are the label or the prediction of some example
//   roc_auc          area under the ROC curve, one class against the rest by its probability: the
//                    mean over the classes that some examples have and others have not; of two
//                    classes that of the second. 0 if there is no such class
//   average_precision
//                    the same for the area under the precision-recall curve: the mean of the
//                    precisions, weighted by the rise of the recall
//   calibration_error
//                    expected calibration error (Guo et al. 2017, section 3): the distance of
//                    accuracy and mean probability of the prediction, in 15 ranges of equal width
//                    of that probability, weighted by their examples
//
// The last three only up to kMostRanked classes. A probability that is NaN ranks as a mistake.
// confusion is [label][prediction], for at most kMostConfusion classes. per_class has for each
// class precision = correct / predicted, recall = correct / labelled and f1 = 2 correct /
// (predicted + labelled), or 0 if the divisor is 0. These are scikit-learn's definitions with
// zero_division=0. Without examples every metric is 0.
inline constexpr std::size_t kMostConfusion = 128;  // a larger matrix is not readable
inline constexpr std::int64_t kMostRanked = 16;     // each is sorted
TestResult classification_metrics(const Tensor& logits, const Tensor& labels);

// Multi-label classification: logits f32 [N, labels], targets f32 [N, labels]. A label is predicted
// if its logit is above 0 (a probability above 0.5), and true if its target is above 0.5.
//
//   accuracy      share of all labels that are predicted correctly (1 - Hamming loss)
//   exact_match   share of the examples whose labels are all correct
//   macro_precision, macro_recall, macro_f1, roc_auc, average_precision
//                 as above, ranked by the logits; roc_auc and average_precision are means
//
// per_class is as above, with labels for classes; macro means are over all labels.
TestResult multilabel_metrics(const Tensor& logits, const Tensor& targets);

// Regression: predictions f32 [N, outputs], targets f32 [N, outputs].
//
//   rmse   root of the mean of (prediction - target)^2 over all elements
//   mae    mean of |prediction - target| over all elements
//   r2     mean over the outputs of 1 - sum (prediction - target)^2 / sum (target - mean)^2; if the
//          divisor is 0, 1 for perfect predictions and 0 for others
//
// per_target has the three for each output, if there are several.
//
// These are scikit-learn's definitions (r2_score with multioutput="uniform_average").
TestResult regression_metrics(const Tensor& predictions, const Tensor& targets);

// Next-token prediction: logits f32 [N, tokens], tokens i32 [N].
//
//   perplexity       e^loss, where `loss` is the mean cross-entropy, without label smoothing
//   bits_per_token   loss / ln 2
//   accuracy         as of classification
TestResult next_token_metrics(const Tensor& logits, const Tensor& tokens);

// The scores of some rows.
struct TokenScores {
  std::vector<double> losses;  // the cross-entropy of each row
  std::int64_t right = 0;      // number of correct predictions
};
// Appends the scores of rows [0, count) of logits f32 [..., tokens] and tokens i32 [...], whose
// leading axes are flattened to rows. Throws kShape or kDtype.
void append_scores(TokenScores& scores, const Tensor& logits, const Tensor& tokens,
                   std::int64_t count);

// Accumulates the metrics of rows in several parts, with the same bits as for all rows at once.
class NextTokenMetrics {
 public:
  void add(const TokenScores& scores);
  TestResult result() const;

 private:
  double loss_ = 0;
  std::int64_t rows_ = 0, right_ = 0;
};

// The metrics of the task. Throws kShape or kDtype unless outputs and targets are as above.
TestResult metrics_of(Task task, const Tensor& outputs, const Tensor& targets);

// The names of the metrics of a task: "loss", then those above. `outputs` is the number of classes,
// labels or target columns.
std::vector<std::string> metric_names(Task task, std::int64_t outputs);
// True for accuracies, areas, scores and r2; false for losses, errors and what is derived from
// them.
bool larger_is_better(std::string_view metric);

}  // namespace limpid::train
