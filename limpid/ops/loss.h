// Losses: how wrong predictions are. Each is an op that gives the losses of the elements or
// examples one by one, and a function that reduces them as asked. softmax_cross_entropy stands in
// softmax.h.
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

// What becomes of the losses of several elements or examples.
enum class Reduction : std::uint8_t { kMean, kSum, kNone };

// ---- classes

// What cross_entropy counts, and how.
struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0;                     // in [0, 1]
  std::optional<std::int64_t> ignore_index = {};  // examples of this label do not count
  Value class_weights = {};                       // (classes)
};

// Cross-entropy of softmax(logits) against labels, i32 (...), or against probabilities, (...,
// classes) as logits are. As PyTorch's cross_entropy: with smoothing s the target is (1 - s) target
// + s / classes; the mean over labels divides by the sum of the weights of those that count, the
// mean over probabilities by the number of examples. Throws kInvalidArgument where the smoothing is
// outside of [0, 1], or labels to ignore are named among probabilities.
Value cross_entropy(Value logits, Value target, const CrossEntropyOptions& options = {});

// What nll_loss counts, and how.
struct NllOptions {
  Reduction reduction = Reduction::kMean;
  std::optional<std::int64_t> ignore_index = {};
  Value class_weights = {};  // (classes)
};

// -log_probabilities[label], weighted and reduced as cross_entropy does.
Value nll_loss(Value log_probabilities, Value labels, const NllOptions& options = {});

// Binary cross-entropy of sigmoid(logits), element by element; positive_weight (as the logits, or
// smaller and stretched) multiplies the share of the positive targets.
Value binary_cross_entropy(Value logits, Value targets, Reduction reduction = Reduction::kMean,
                           Value positive_weight = {});

// Several labels an example: the sum of binary_cross_entropy over the last axis, reduced over
// examples.
Value multi_label_loss(Value logits, Value targets, Reduction reduction = Reduction::kMean,
                       Value positive_weight = {});

// target (log target - log_probabilities), element by element, 0 where the target is 0; as
// PyTorch's kl_div. kMean is the mean over elements.
Value kl_divergence(Value log_probabilities, Value target, Reduction reduction = Reduction::kMean);

// max(0, 1 - target x), targets being -1 and 1.
Value hinge_loss(Value x, Value target, Reduction reduction = Reduction::kMean);

// ---- numbers, with d = prediction - target

Value mse_loss(Value prediction, Value target, Reduction reduction = Reduction::kMean);  // d^2
Value mae_loss(Value prediction, Value target, Reduction reduction = Reduction::kMean);  // |d|

// d^2 / 2 where |d| < delta, else delta (|d| - delta / 2). Throws kInvalidArgument unless delta >
// 0.
Value huber_loss(Value prediction, Value target, double delta = 1,
                 Reduction reduction = Reduction::kMean);
// huber_loss of the delta beta, divided by beta; 0 is refused (PyTorch takes it for mae_loss).
Value smooth_l1_loss(Value prediction, Value target, double beta = 1,
                     Reduction reduction = Reduction::kMean);

// ---- embeddings, (..., features)

// How info_nce_loss compares.
struct InfoNceOptions {
  double temperature = 0.1;
  bool normalize = true;  // rows to length 1 first, so that products are cosines
  Reduction reduction = Reduction::kMean;
};

// Queries and keys (..., n, features); key i belongs to query i, the others are its negatives:
// cross_entropy of query key^T / temperature against 0, 1, ..., n - 1. Throws kInvalidArgument
// unless temperature > 0.
Value info_nce_loss(Value queries, Value keys, const InfoNceOptions& options = {});

// max(0, |a - p| - |a - n| + margin); 1e-6 is added to every difference, as PyTorch does, so that a
// distance of 0 has a derivative.
Value triplet_margin_loss(Value anchor, Value positive, Value negative, double margin = 1,
                          Reduction reduction = Reduction::kMean);

// 1 - cos(a, b) where a and b are the same thing (bool (...)), else max(0, cos(a, b) - margin).
Value cosine_embedding_loss(Value a, Value b, Value same, double margin = 0,
                            Reduction reduction = Reduction::kMean);

// x / max(|x|, 1e-12), |x| the L2 norm over the last axis.
Value normalize(Value x);

// The losses' mean, their sum, or themselves.
Value reduced(Value losses, Reduction reduction);

}  // namespace limpid
