// Loss functions. Each is an op that gives the loss of every element or example, and a function
// that also applies a Reduction. softmax_cross_entropy is in softmax.h. All throw kShape and kDtype
// for operands that do not match.
#pragma once

#include <optional>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op soft_cross_entropy, binary_cross_entropy, negative_log_likelihood, kl_divergence;
extern const Op squared_error, absolute_error, huber, smooth_l1, hinge;
extern const Op info_nce, triplet_margin, cosine_embedding;
}  // namespace op

// How to combine the losses of the elements or examples.
enum class Reduction : std::uint8_t { kMean, kSum, kNone };

// ---- classification

// Options of cross_entropy.
struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0;                       // in [0, 1]
  std::optional<std::int64_t> ignore_index = -100;  // examples with this label are ignored
  Value class_weights = {};                         // (classes)
};

// Cross-entropy of softmax(logits), logits (..., classes), with targets that are integer labels
// (...), or probabilities (..., classes). As PyTorch's cross_entropy: with label smoothing s the
// target is (1 - s) target + s / classes. For labels, kMean divides by the sum of the weights of
// the examples that count; for probabilities, by the number of examples. A label that is neither a
// class nor ignored gives NaN, and so does its gradient. Throws kInvalidArgument if label_smoothing
// is outside of [0, 1], or if an ignore_index of 0 or more comes with probabilities.
Value cross_entropy(Value logits, Value target, const CrossEntropyOptions& options = {});

// Options of nll_loss.
struct NllOptions {
  Reduction reduction = Reduction::kMean;
  std::optional<std::int64_t> ignore_index = -100;
  Value class_weights = {};  // (classes)
};

// Negative log-likelihood, -log_probabilities[label], of log_probabilities (..., classes) and
// integer labels (...). Weighted and reduced as in cross_entropy.
Value nll_loss(Value log_probabilities, Value labels, const NllOptions& options = {});

// Binary cross-entropy of sigmoid(logits), element-wise, targets in [0, 1]: the op
// `binary_cross_entropy`. positive_weight, which broadcasts to the logits, multiplies the term of
// the positive targets.
Value binary_cross_entropy_with_logits(Value logits, Value targets,
                                       Reduction reduction = Reduction::kMean,
                                       Value positive_weight = {});
// Binary cross-entropy of probabilities in [0, 1], element-wise: -(t log p + (1 - t) log(1 - p)),
// as PyTorch's. A logarithm below -100 counts as -100, with a gradient of 0 where p or 1 - p is 0.
// A probability outside of [0, 1] gives NaN. Of logits, the other function is more accurate.
Value binary_cross_entropy(Value probabilities, Value targets,
                           Reduction reduction = Reduction::kMean);

// Multi-label loss: the sum of binary_cross_entropy_with_logits over the last axis, then the
// reduction over examples.
Value multi_label_loss(Value logits, Value targets, Reduction reduction = Reduction::kMean,
                       Value positive_weight = {});

// Kullback-Leibler divergence: target (log target - log_probabilities), element-wise, 0 where the
// target is 0; as PyTorch's kl_div. kMean is the mean over elements.
Value kl_divergence(Value log_probabilities, Value target, Reduction reduction = Reduction::kMean);

// max(0, 1 - target x), for targets -1 and 1.
Value hinge_loss(Value x, Value target, Reduction reduction = Reduction::kMean);

// ---- regression, with d = prediction - target

Value mse_loss(Value prediction, Value target, Reduction reduction = Reduction::kMean);  // d^2
Value mae_loss(Value prediction, Value target, Reduction reduction = Reduction::kMean);  // |d|

// d^2 / 2 where |d| < delta, else delta (|d| - delta / 2) (Huber 1964). Throws kInvalidArgument
// unless delta > 0.
Value huber_loss(Value prediction, Value target, double delta = 1,
                 Reduction reduction = Reduction::kMean);
// huber_loss with delta = beta, divided by beta (Girshick 2015, equation 3). Throws
// kInvalidArgument unless beta > 0 (PyTorch takes beta 0 as mae_loss).
Value smooth_l1_loss(Value prediction, Value target, double beta = 1,
                     Reduction reduction = Reduction::kMean);

// ---- embeddings (..., features)

// Options of info_nce_loss.
struct InfoNceOptions {
  double temperature = 0.1;
  bool normalize = true;  // scale rows to L2 norm 1 first, so that products are cosine similarities
  Reduction reduction = Reduction::kMean;
};

// InfoNCE (van den Oord et al. 2018, equation 4) of queries and keys (..., n, features). Key i is
// the positive of query i, all other keys are negatives: cross_entropy of queries keys^T /
// temperature with labels 0, 1, ..., n - 1. Throws kInvalidArgument unless temperature > 0.
Value info_nce_loss(Value queries, Value keys, const InfoNceOptions& options = {});

// max(0, |a - p| - |a - n| + margin) (Schroff et al. 2015, with plain distances). As in PyTorch,
// 1e-6 is added to every difference, so that the derivative exists at distance 0.
Value triplet_margin_loss(Value anchor, Value positive, Value negative, double margin = 1,
                          Reduction reduction = Reduction::kMean);

// 1 - cos(a, b) where `same`, bool (...), is true, else max(0, cos(a, b) - margin).
Value cosine_embedding_loss(Value a, Value b, Value same, double margin = 0,
                            Reduction reduction = Reduction::kMean);

// x / max(|x|, 1e-12), where |x| is the L2 norm over the last axis.
Value normalize(Value x);

// The mean or the sum of the losses, or the losses unchanged.
Value reduced(Value losses, Reduction reduction);

}  // namespace limpid
