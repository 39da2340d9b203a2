#include "limpid/ops/loss.h"

#include <fmt/format.h>

#include <limits>

#include "limpid/core/error.h"
#include "limpid/ops/activation.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/norm.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/softmax.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kDeltaAttribute[] = {{"delta", AttributeKind::kReal}};
constexpr AttributeSpec kMarginAttribute[] = {{"margin", AttributeKind::kReal}};
constexpr AttributeSpec kTemperatureAttribute[] = {{"temperature", AttributeKind::kReal}};

// ---- type rules

void require_positive(const Call& call, std::string_view attribute) {
  const double value = call.attributes.get<double>(attribute);
  if (!(value > 0))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: {} is {}, expected a positive number",
                                                         where(call), attribute, value));
}

std::vector<Type> huber_types(const Call& call) {
  require_positive(call, "delta");
  return floating_elementwise(call);
}
std::vector<Type> smooth_l1_types(const Call& call) {
  require_positive(call, "beta");
  return floating_elementwise(call);
}

void require_rank(const Call& call, std::size_t rank, std::string_view wanted) {
  if (call.inputs[0].shape.rank() < rank)
    throw Error(ErrorCode::kShape, fmt::format("{}: input 0 is {}, expected {}", where(call),
                                               to_string(call.inputs[0]), wanted));
}

// Inputs of one shape; the last axis is reduced.
std::vector<Type> features_types(const Call& call) {
  floating_elementwise(call);
  require_rank(call, 1, "[..., features]");
  const Shape& shape = call.inputs[0].shape;
  return {{call.inputs[0].dtype, shape.erase(shape.rank() - 1)}};
}

std::vector<Type> info_nce_types(const Call& call) {
  require_positive(call, "temperature");
  require_rank(call, 2, "[..., n, features]");
  return features_types(call);
}

std::vector<Type> cosine_types(const Call& call) {
  const std::vector<Type> result =
      features_types({call.op, call.inputs.first(2), {}, call.attributes, call.scope});
  require_dtype(call, 2, Dtype::kBool);
  if (!(call.inputs[2].shape == result[0].shape))
    throw Error(ErrorCode::kShape,
                fmt::format("{}: input 2 is {}, expected bool{}", where(call),
                            to_string(call.inputs[2]), to_string(result[0].shape)));
  return result;
}

// ---- classes

// A term whose target is 0 is 0, even if its logarithm is -inf (a class of probability 0).
Values soft_cross_entropy_body(std::span<const Value> in, const Attributes&) {
  const Value zero = number_like(in[1], 0);
  const Value terms = select(in[1] == zero, zero, in[1] * log_softmax(in[0], -1));
  return {-sum(terms, -1)};
}

// prediction times the sum of the targets, - target. A row of targets 0 is left out: its gradient
// is 0, whatever the logits are.
Values soft_cross_entropy_gradient(const GradientCall& c) {
  const Value &logits = c.inputs[0], &targets = c.inputs[1], &g = c.cotangents[0];
  const auto over_row = [&](const Value& v) { return expand_axis(v, targets.shape(), -1); };
  const Value total = sum(targets, -1);
  const Value is_there = over_row(max(abs(targets), -1) != number_like(total, 0));
  const Value slope =
      select(is_there, softmax(logits, -1) * over_row(total) - targets, number_like(targets, 0));
  return {slope * over_row(g), -(log_softmax(logits, -1) * over_row(g))};
}

Values nll_body(std::span<const Value> in, const Attributes&) {
  const Value& terms = in[0];
  return {-sum(select(one_hot(in[1], terms.shape().back()), terms, number_like(terms, 0)), -1)};
}

// log(1 + e^-|z|)
Value binary_tail(const Value& logits) { return log1p(exp(-abs(logits))); }

// An infinite logit costs nothing if it is right, else infinity: the formulas have inf - inf there.
Value unless_infinite(const Value& z, const Value& t, const Value& loss) {
  const Value zero = number_like(z, 0);
  const Value size = abs(z);
  const Value limit = select(cast(z > zero, z.dtype()) == t, zero, size);
  return select(size < number_like(z, std::numeric_limits<double>::infinity()), loss, limit);
}

Values binary_body(std::span<const Value> in, const Attributes&) {
  const Value& z = in[0];
  const Value& t = in[1];
  const Value zero = number_like(z, 0);
  if (in.size() == 2) return {unless_infinite(z, t, maximum(z, zero) - z * t + binary_tail(z))};
  const Value weight = (in[2] - 1.0) * t + 1.0;
  const Value loss = (1.0 - t) * z + weight * (binary_tail(z) + maximum(-z, zero));
  return {unless_infinite(z, t, loss)};
}

// prediction - target; with a positive weight w, (1 - t) - (1 + (w - 1) t) (1 - p).
Values binary_gradient(const GradientCall& c) {
  const Value& z = c.inputs[0];
  const Value& t = c.inputs[1];
  const Value& g = c.cotangents[0];
  if (c.inputs.size() == 2) return {(sigmoid(z) - t) * g, -(z * g)};
  const Value& w = c.inputs[2];
  const Value tail = softplus(-z);
  const Value weight = (w - 1.0) * t + 1.0;
  const Value zero = number_like(t, 0);
  const Value tail_if_positive = select(t == zero, zero, tail);
  return {((1.0 - t) - weight * sigmoid(-z)) * g, ((w - 1.0) * tail - z) * g,
          t * tail_if_positive * g};
}

Values kl_body(std::span<const Value> in, const Attributes&) {
  const Value& t = in[1];
  const Value zero = number_like(t, 0);
  const Value none = t == zero;
  // A target whose logarithm is infinite is replaced by 1.
  const Value safe = select(none, number_like(t, 1), t);
  return {t * select(none, zero, log(safe) - in[0])};
}

Values hinge_body(std::span<const Value> in, const Attributes&) {
  return {relu(1.0 - in[0] * in[1])};
}

// ---- numbers

Values squared_body(std::span<const Value> in, const Attributes&) {
  const Value d = in[0] - in[1];
  return {d * d};
}
Values squared_gradient(const GradientCall& c) {
  const Value slope = (c.inputs[0] - c.inputs[1]) * 2.0 * c.cotangents[0];
  return {slope, -slope};
}

Values absolute_body(std::span<const Value> in, const Attributes&) { return {abs(in[0] - in[1])}; }

// The difference clamped to [-bound, bound] is the derivative of both parts.
Value bounded_slope(const GradientCall& c, double bound) {
  const Value d = c.inputs[0] - c.inputs[1];
  return minimum(maximum(d, number_like(d, -bound)), number_like(d, bound));
}

// d^2 / 2 where |d| < bound, else bound (|d| - bound / 2), times scale.
Value huber_of(const Value& d, double bound, double scale) {
  const Value size = abs(d);
  return select(size < number_like(size, bound), d * d * (0.5 * scale),
                (size - 0.5 * bound) * (bound * scale));
}

Values huber_body(std::span<const Value> in, const Attributes& attributes) {
  return {huber_of(in[0] - in[1], attributes.get<double>("delta"), 1)};
}
Values huber_gradient(const GradientCall& c) {
  const Value slope = bounded_slope(c, c.attributes.get<double>("delta")) * c.cotangents[0];
  return {slope, -slope};
}

Values smooth_l1_body(std::span<const Value> in, const Attributes& attributes) {
  const double beta = attributes.get<double>("beta");
  return {huber_of(in[0] - in[1], beta, 1 / beta)};
}
Values smooth_l1_gradient(const GradientCall& c) {
  const double beta = c.attributes.get<double>("beta");
  const Value slope = bounded_slope(c, beta) * (1 / beta) * c.cotangents[0];
  return {slope, -slope};
}

// ---- embeddings

Values info_nce_body(std::span<const Value> in, const Attributes& attributes) {
  const Shape& shape = in[0].shape();
  const Value logits =
      matmul(in[0], in[1], false, true) * (1 / attributes.get<double>("temperature"));
  const Shape labels = shape.erase(shape.rank() - 1);
  return {softmax_cross_entropy(logits, broadcast(iota(in[0].builder(), labels.back()), labels))};
}

Value distance(const Value& a, const Value& b) {
  const Value d = a - b + 1e-6;
  return sqrt(sum(d * d, -1));
}

Values triplet_body(std::span<const Value> in, const Attributes& attributes) {
  return {relu(distance(in[0], in[1]) - distance(in[0], in[2]) + attributes.get<double>("margin"))};
}

Values cosine_body(std::span<const Value> in, const Attributes& attributes) {
  const auto squares = [](const Value& x) { return sum(x * x, -1) + 1e-12; };
  // Separate statements: the order in which a compiler evaluates operands is unspecified, and the
  // gradient adds in this order.
  const Value product = sum(in[0] * in[1], -1);
  const Value a = squares(in[0]);
  const Value b = squares(in[1]);
  const Value cosine = product / sqrt(a * b);
  const Value apart = relu(cosine - attributes.get<double>("margin"));
  return {select(in[2], 1.0 - cosine, apart)};
}

// ---- examples

std::vector<Example> of_types(const std::vector<std::vector<Type>>& inputs,
                              const Attributes& attributes = {}, double low = -2, double high = 2,
                              std::int64_t bound = 2) {
  std::vector<Example> examples;
  for (const std::vector<Type>& types : inputs)
    examples.push_back({types, attributes, low, high, bound});
  return examples;
}

constexpr Dtype kF32 = Dtype::kF32;
constexpr Dtype kF64 = Dtype::kF64;

std::vector<Example> row_examples() {
  return of_types({{{kF32, {5}}, {kF32, {5}}},
                   {{kF32, {6, 10}}, {kF32, {6, 10}}},
                   {{kF64, {2, 3, 4}}, {kF64, {2, 3, 4}}}});
}
std::vector<Example> nll_examples() {
  return of_types({{{kF32, {5}}, {Dtype::kI32, {}}},
                   {{kF32, {6, 4}}, {Dtype::kI32, {6}}},
                   {{kF64, {2, 3, 4}}, {Dtype::kI32, {2, 3}}}},
                  {}, -2, 2, 4);
}
std::vector<Example> binary_loss_examples() {
  return of_types({{{kF32, {}}, {kF32, {}}},
                   {{kF32, {7}}, {kF32, {7}}, {kF32, {7}}},
                   {{kF64, {3, 5}}, {kF64, {3, 5}}},
                   {{kF64, {3, 5}}, {kF64, {3, 5}}, {kF64, {3, 5}}}},
                  {}, 0, 1);
}
std::vector<Example> with(std::vector<Example> examples, const Attributes& attributes) {
  for (Example& e : examples) e.attributes = attributes;
  return examples;
}
std::vector<Example> huber_examples() { return with(binary_examples(), {{"delta", 0.75}}); }
std::vector<Example> smooth_l1_examples() { return with(binary_examples(), {{"beta", 0.75}}); }
std::vector<Example> info_nce_examples() {
  return of_types({{{kF32, {4, 3}}, {kF32, {4, 3}}},
                   {{kF64, {4, 3}}, {kF64, {4, 3}}},
                   {{kF64, {2, 3, 5}}, {kF64, {2, 3, 5}}}},
                  {{"temperature", 0.5}});
}
std::vector<Example> triplet_examples() {
  return of_types({{{kF32, {4}}, {kF32, {4}}, {kF32, {4}}},
                   {{kF32, {5, 3}}, {kF32, {5, 3}}, {kF32, {5, 3}}},
                   {{kF64, {5, 3}}, {kF64, {5, 3}}, {kF64, {5, 3}}}},
                  {{"margin", 0.5}});
}
std::vector<Example> cosine_examples() {
  return of_types({{{kF32, {4}}, {kF32, {4}}, {Dtype::kBool, {}}},
                   {{kF32, {5, 3}}, {kF32, {5, 3}}, {Dtype::kBool, {5}}}},
                  {{"margin", 0.1}});
}

// ---- the family

struct LossExtras {
  std::string_view source = {};
  std::span<const AttributeSpec> attributes = kNoAttributes;
  TypeRule types = floating_elementwise;
  std::string_view shapes = kElementwiseShapes;
  int max_inputs = 2;
  int min_inputs = 2;
};

// Every input accepts leading batch dimensions.
template <const Op& op>
consteval Op loss(std::string_view name, std::string_view formula, Body body, GradientRule rule,
                  bool smooth, std::vector<Example> (*examples)(), const LossExtras& extras = {}) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = extras.shapes,
                   .elementwise = extras.shapes == kElementwiseShapes,
                   .min_inputs = extras.min_inputs,
                   .max_inputs = extras.max_inputs,
                   .attributes = extras.attributes,
                   .types = extras.types,
                   .body = body,
                   .gradient = rule,
                   .smooth = smooth,
                   .batching = batching(batch_elementwise<op>),
                   .flops = flops_of_body,
                   .onnx = {},
                   .source = extras.source,
                   .examples = examples});
}

constexpr std::string_view kRows = "[..., features] each -> [...]";

}  // namespace

namespace op {

constinit const Op soft_cross_entropy = loss<soft_cross_entropy>(
    "soft_cross_entropy", "-sum of target log_softmax(logits)", soft_cross_entropy_body,
    gradient(soft_cross_entropy_gradient), kSmooth, row_examples,
    {.types = features_types, .shapes = "logits[..., classes], target[..., classes] -> [...]"});
constinit const Op binary_cross_entropy = loss<binary_cross_entropy>(
    "binary_cross_entropy", "-(w t log p + (1 - t) log(1 - p)), p = sigmoid(logit)", binary_body,
    gradient(binary_gradient), kSmooth, binary_loss_examples, {.max_inputs = 3});
constinit const Op negative_log_likelihood = loss<negative_log_likelihood>(
    "negative_log_likelihood", "-log_probabilities[label]", nll_body, gradient_through_body(),
    kSmooth, nll_examples,
    {.types = labelled_types, .shapes = "log_probabilities[..., classes], labels[...] -> [...]"});
constinit const Op kl_divergence = loss<kl_divergence>(
    "kl_divergence", "target (log target - log_probability), 0 where target is 0", kl_body,
    gradient_through_body(), kSmooth,
    [] {
      return of_types({{{kF32, {7}}, {kF32, {7}}}, {{kF64, {3, 5}}, {kF64, {3, 5}}}}, {}, 0.1, 1);
    },
    {.source = "Kullback and Leibler, On Information and Sufficiency (1951)"});
constinit const Op squared_error =
    loss<squared_error>("squared_error", "(a - b)^2", squared_body, gradient(squared_gradient),
                        kSmooth, binary_examples);
constinit const Op absolute_error = loss<absolute_error>(
    "absolute_error", "|a - b|", absolute_body, gradient_through_body(), kKinked, binary_examples);
constinit const Op huber =
    loss<huber>("huber", "d^2 / 2 where |d| < delta, else delta (|d| - delta / 2)", huber_body,
                gradient(huber_gradient), kKinked, huber_examples,
                {.source = "Huber, Robust Estimation of a Location Parameter (1964)",
                 .attributes = kDeltaAttribute,
                 .types = huber_types});
constinit const Op smooth_l1 =
    loss<smooth_l1>("smooth_l1", "d^2 / (2 beta) where |d| < beta, else |d| - beta / 2",
                    smooth_l1_body, gradient(smooth_l1_gradient), kKinked, smooth_l1_examples,
                    {.source = "Girshick, Fast R-CNN (2015), equation 3",
                     .attributes = kBetaAttribute,
                     .types = smooth_l1_types});
constinit const Op hinge = loss<hinge>("hinge", "max(0, 1 - a b)", hinge_body,
                                       gradient_through_body(), kKinked, binary_examples);
constinit const Op info_nce = loss<info_nce>(
    "info_nce", "cross-entropy of a b^T / temperature against 0, 1, ...", info_nce_body,
    gradient_through_body(), kSmooth, info_nce_examples,
    {.source = "van den Oord et al., Contrastive Predictive Coding (2018), equation 4",
     .attributes = kTemperatureAttribute,
     .types = info_nce_types,
     .shapes = "[..., n, features] each -> [..., n]"});
constinit const Op triplet_margin =
    loss<triplet_margin>("triplet_margin", "max(0, |a - p| - |a - n| + margin)", triplet_body,
                         gradient_through_body(), kKinked, triplet_examples,
                         {.source = "Schroff et al., FaceNet (2015), equation 2",
                          .attributes = kMarginAttribute,
                          .types = features_types,
                          .shapes = kRows,
                          .max_inputs = 3,
                          .min_inputs = 3});
constinit const Op cosine_embedding = loss<cosine_embedding>(
    "cosine_embedding", "1 - cos(a, b) for a matching pair, else max(0, cos - margin)", cosine_body,
    gradient_through_body(), kKinked, cosine_examples,
    {.attributes = kMarginAttribute,
     .types = cosine_types,
     .shapes = "a[..., features], b[..., features], same[...] -> [...]",
     .max_inputs = 3,
     .min_inputs = 3});

}  // namespace op

constexpr const Op* kLossOps[] = {&op::soft_cross_entropy,
                                  &op::binary_cross_entropy,
                                  &op::negative_log_likelihood,
                                  &op::kl_divergence,
                                  &op::squared_error,
                                  &op::absolute_error,
                                  &op::huber,
                                  &op::smooth_l1,
                                  &op::hinge,
                                  &op::info_nce,
                                  &op::triplet_margin,
                                  &op::cosine_embedding};
constexpr OpList loss_ops = kLossOps;

namespace {

void check_class_weights(std::string_view what, const Value& weights, const Value& scores) {
  const Type expected{scores.dtype(), Shape{scores.shape().back()}};
  if (weights && !(weights.type() == expected))
    throw Error(weights.dtype() == expected.dtype ? ErrorCode::kShape : ErrorCode::kDtype,
                fmt::format("{}: class weights: expected {}, got {}", what, to_string(expected),
                            to_string(weights.type())));
}

// The weight of each label: that of its class (1 without class weights), 0 if the label is ignored,
// NaN if it is no class.
class LabelWeights {
 public:
  LabelWeights(const Value& labels, std::int64_t classes, const Value& class_weights,
               std::optional<std::int64_t> ignore_index, Dtype dtype) {
    const auto every = [&](double number) {
      return broadcast(constant(labels.builder(), number, dtype), labels.shape());
    };
    const Value is_class = logical_and(labels >= number_like(labels, 0),
                                       labels < number_like(labels, static_cast<double>(classes)));
    const Value nan = every(std::numeric_limits<double>::quiet_NaN());
    known_ = select(is_class, every(1), nan);
    each_ = known_;
    if (class_weights) {
      const Value mine = one_hot(labels, classes);
      each_ = select(is_class, sum(select(mine, class_weights, number_like(class_weights, 0)), -1),
                     nan);
    }
    if (ignore_index) {
      ignored_ = labels == broadcast(constant(labels.builder(), static_cast<double>(*ignore_index),
                                              Dtype::kI32),
                                     labels.shape());
      known_ = select(ignored_, every(1), known_);
      each_ = select(ignored_, every(0), each_);
    }
    if (class_weights) ignored_ = each_ == number_like(each_, 0);
  }

  // Scores without the rows that are left out: 0 times their gradients would be NaN where they are
  // not finite.
  Value with_rows_left(const Value& scores) const {
    if (!ignored_) return scores;
    return select(expand_axis(ignored_, scores.shape(), -1), number_like(scores, 0), scores);
  }
  // 0 where the label is ignored or has a weight of 0, and no gradient there.
  Value without_ignored(const Value& losses) const {
    return ignored_ ? select(ignored_, number_like(losses, 0), losses) : losses;
  }
  Value weighted(const Value& losses) const { return losses * each_; }
  // NaN for a label that is neither a class nor ignored.
  Value checked(const Value& losses) const { return losses * known_; }

  Value reduce(const Value& losses, Reduction reduction) const {
    if (reduction != Reduction::kMean) return reduced(losses, reduction);
    return sum(losses) / sum(each_);
  }

 private:
  Value ignored_;
  Value known_;  // 1, or NaN
  Value each_;
};

Value soft_loss(const Value& logits, const Value& target, const CrossEntropyOptions& o) {
  if (logits.rank() == 0) call1(op::soft_cross_entropy, {logits, target});  // says what is wrong
  if (target.rank() + 1 == logits.rank())
    throw Error(ErrorCode::kDtype,
                fmt::format("cross_entropy: labels are {}; expected integers, or probabilities of "
                            "the type of the logits, {}",
                            to_string(target.type()), to_string(logits.type())));
  if (o.ignore_index.value_or(-1) >= 0)
    throw Error(ErrorCode::kInvalidArgument,
                "cross_entropy: ignoring a label needs labels, got probabilities");
  const double classes = static_cast<double>(logits.shape().back());
  check_class_weights("cross_entropy", o.class_weights, logits);
  Value q = target;
  if (o.label_smoothing != 0) q = q * (1 - o.label_smoothing) + o.label_smoothing / classes;
  if (o.class_weights) q = q * o.class_weights;
  return reduced(call1(op::soft_cross_entropy, {logits, q}), o.reduction);
}

// (1 - s) w[label] at the label, and s w[c] / classes at every class c.
Value smoothed_target(const Value& logits, const Value& labels, const CrossEntropyOptions& o) {
  const std::int64_t classes = logits.shape().back();
  const double off = o.label_smoothing / static_cast<double>(classes);
  const Value mine = one_hot(labels, classes);
  const Value q =
      select(mine, number_like(logits, 1 - o.label_smoothing + off), number_like(logits, off));
  return o.class_weights ? q * o.class_weights : q;
}

}  // namespace

Value reduced(Value losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::kMean:
      return mean(losses);
    case Reduction::kSum:
      return sum(losses);
    case Reduction::kNone:
      return losses;
  }
  return losses;
}

Value cross_entropy(Value logits, Value target, const CrossEntropyOptions& o) {
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("cross_entropy: label smoothing {} is outside of [0, 1]", o.label_smoothing));
  if (is_floating(target.dtype())) return soft_loss(logits, target, o);
  target = labels_as_i32(target);
  if (logits.rank() == 0) call1(op::softmax_cross_entropy, {logits, target});  // says what is wrong
  check_class_weights("cross_entropy", o.class_weights, logits);
  const std::int64_t classes = logits.shape().back();
  const LabelWeights weights(target, classes, o.class_weights, o.ignore_index, logits.dtype());
  // The op leaves out the rows of labels that are no class.
  const std::int64_t ignored = o.ignore_index.value_or(-1);
  if (o.label_smoothing == 0 && !o.class_weights && (ignored < 0 || ignored >= classes))
    return weights.reduce(weights.weighted(softmax_cross_entropy(logits, target)), o.reduction);
  logits = weights.with_rows_left(logits);
  if (o.label_smoothing == 0)
    return weights.reduce(
        weights.weighted(weights.without_ignored(softmax_cross_entropy(logits, target))),
        o.reduction);
  const Value q = smoothed_target(logits, target, o);
  const Value losses = call1(op::soft_cross_entropy, {logits, q});
  return weights.reduce(weights.checked(weights.without_ignored(losses)), o.reduction);
}

Value nll_loss(Value log_probabilities, Value labels, const NllOptions& o) {
  labels = labels_as_i32(labels);
  const Value losses = call1(op::negative_log_likelihood, {log_probabilities, labels});
  check_class_weights("nll_loss", o.class_weights, log_probabilities);
  const LabelWeights weights(labels, log_probabilities.shape().back(), o.class_weights,
                             o.ignore_index, log_probabilities.dtype());
  return weights.reduce(weights.weighted(weights.without_ignored(losses)), o.reduction);
}

namespace {

Value binary_losses(const Value& logits, const Value& targets, const Value& positive_weight) {
  if (!positive_weight) return call1(op::binary_cross_entropy, {logits, targets});
  return call1(op::binary_cross_entropy,
               {logits, targets, broadcast(positive_weight, logits.shape())});
}

}  // namespace

Value binary_cross_entropy_with_logits(Value logits, Value targets, Reduction reduction,
                                       Value positive_weight) {
  return reduced(binary_losses(logits, targets, positive_weight), reduction);
}

Value binary_cross_entropy(Value probabilities, Value targets, Reduction reduction) {
  const auto bounded_log = [](const Value& p) {
    const Value none = p == number_like(p, 0), least = number_like(p, -100);
    return select(none, least, maximum(log(select(none, number_like(p, 1), p)), least));
  };
  const Value losses =
      targets * bounded_log(probabilities) + (1.0 - targets) * bounded_log(1.0 - probabilities);
  return reduced(-losses, reduction);
}

Value multi_label_loss(Value logits, Value targets, Reduction reduction, Value positive_weight) {
  return reduced(sum(binary_losses(logits, targets, positive_weight), -1), reduction);
}

Value kl_divergence(Value log_probabilities, Value target, Reduction reduction) {
  return reduced(call1(op::kl_divergence, {log_probabilities, target}), reduction);
}

Value hinge_loss(Value x, Value target, Reduction reduction) {
  return reduced(call1(op::hinge, {x, target}), reduction);
}

Value mse_loss(Value prediction, Value target, Reduction reduction) {
  return reduced(call1(op::squared_error, {prediction, target}), reduction);
}

Value mae_loss(Value prediction, Value target, Reduction reduction) {
  return reduced(call1(op::absolute_error, {prediction, target}), reduction);
}

Value huber_loss(Value prediction, Value target, double delta, Reduction reduction) {
  return reduced(call1(op::huber, {prediction, target}, {{"delta", delta}}), reduction);
}

Value smooth_l1_loss(Value prediction, Value target, double beta, Reduction reduction) {
  return reduced(call1(op::smooth_l1, {prediction, target}, {{"beta", beta}}), reduction);
}

// The lower bound is applied before the root, whose slope is infinite at 0.
Value normalize(Value x) {
  const auto squares_of = [](const Value& v) { return sum(v * v, -1); };
  const Value unit = unit_for_squares(squares_of(x));
  const Value scaled = x * expand_axis(unit, x.shape(), -1);
  const Value least = number_like(unit, 1e-24) * unit * unit;
  const Value length = sqrt(maximum(squares_of(scaled), least));
  return scaled / expand_axis(length, x.shape(), -1);
}

Value info_nce_loss(Value queries, Value keys, const InfoNceOptions& o) {
  if (o.normalize) {
    queries = normalize(queries);
    keys = normalize(keys);
  }
  return reduced(call1(op::info_nce, {queries, keys}, {{"temperature", o.temperature}}),
                 o.reduction);
}

Value triplet_margin_loss(Value anchor, Value positive, Value negative, double margin,
                          Reduction reduction) {
  return reduced(call1(op::triplet_margin, {anchor, positive, negative}, {{"margin", margin}}),
                 reduction);
}

Value cosine_embedding_loss(Value a, Value b, Value same, double margin, Reduction reduction) {
  return reduced(call1(op::cosine_embedding, {a, b, same}, {{"margin", margin}}), reduction);
}

}  // namespace limpid
