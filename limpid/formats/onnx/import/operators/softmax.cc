// Probabilities of classes: softmax, its relatives, and the losses made of them.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/loss.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/softmax.h"

namespace limpid::onnx::detail {
namespace {

// Before version 13, x was reshaped to a matrix whose rows are all dimensions from the axis on.
template <Value (*f)(Value, std::int64_t)>
Values import_over_axis(Node& node) {
  const Value x = node.input(0);
  if (node.version() >= 13) return {f(x, node.integer("axis", -1))};
  const std::int64_t named = node.integer("axis", 1);
  const bool beyond = named == static_cast<std::int64_t>(x.rank());
  const std::size_t axis = beyond ? x.rank() : normalize_axis(named, x.rank(), "axis");
  const Value rows = reshape(x, {Shape(x.shape().dims().first(axis)).elements(),
                                 Shape(x.shape().dims().subspan(axis)).elements()});
  return {reshape(f(rows, 1), x.shape())};
}

// 1 at the first largest element, else 0.
Value hardmax(Value x, std::int64_t axis) {
  const Shape shape = x.shape();
  const std::size_t a = normalize_axis(axis, shape.rank(), "axis");
  Shape line = shape;
  for (std::size_t d = 0; d < shape.rank(); ++d)
    if (d != a) line = line.replace(d, 1);
  const Value places = broadcast(reshape(iota(x.builder(), shape[a]), line), shape);
  return cast(places == expand_axis(argmax(x, axis), shape, axis), x.dtype());
}

// ---- losses

// (N, C, ...) with the classes last.
Value classes_last(const Node& node, const Value& x) {
  if (x.rank() < 2)
    node.fail(ErrorCode::kShape,
              fmt::format("{} has no classes, expected (N, C, ...)", to_string(x.type())));
  std::vector<std::int64_t> permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + 1);
  permutation.push_back(1);
  return transpose(x, permutation);
}

Reduction reduction_of(const Node& node) {
  const std::string text = node.text("reduction", "mean");
  if (text == "mean") return Reduction::kMean;
  if (text == "sum") return Reduction::kSum;
  if (text == "none") return Reduction::kNone;
  node.fail(ErrorCode::kFormat,
            fmt::format("expected the reduction mean, sum or none, got '{}'", text));
}

template <class Options>
Options options_of(const Node& node) {
  Options options;
  options.reduction = reduction_of(node);
  options.class_weights = node.optional_input(2);
  options.ignore_index.reset();
  if (node.has("ignore_index")) {
    options.ignore_index = node.integer("ignore_index");
    using Limits = std::numeric_limits<std::int32_t>;
    if (*options.ignore_index < Limits::min() || *options.ignore_index > Limits::max())
      node.fail(ErrorCode::kUnsupported,
                fmt::format("ignore_index {} has more than 32 bits", *options.ignore_index));
  }
  return options;
}

Values import_nll_loss(Node& node) {
  return {nll_loss(classes_last(node, node.input(0)), cast(node.input(1), Dtype::kI32),
                   options_of<NllOptions>(node))};
}

Values import_cross_entropy(Node& node) {
  const Value scores = node.input(0);
  Values outputs{cross_entropy(classes_last(node, scores), cast(node.input(1), Dtype::kI32),
                               options_of<CrossEntropyOptions>(node))};
  if (node.wants_output(1)) outputs.push_back(log_softmax(scores, 1));
  return outputs;
}

constexpr NodeOp kSoftmaxOperators[] = {
    {.name = "Hardmax",
     .meaning = "1 at the first largest element along an axis, else 0",
     .import = import_over_axis<hardmax>},
    {.name = "LogSoftmax", .meaning = "log_softmax", .import = import_over_axis<log_softmax>},
    {.name = "NegativeLogLikelihoodLoss",
     .since = 12,
     .meaning = "nll_loss over dimension 1",
     .import = import_nll_loss},
    {.name = "Softmax", .meaning = "softmax", .import = import_over_axis<softmax>},
    {.name = "SoftmaxCrossEntropyLoss",
     .since = 12,
     .meaning = "cross_entropy over dimension 1",
     .import = import_cross_entropy},
};

}  // namespace

constexpr std::span<const NodeOp> softmax_operators = kSoftmaxOperators;

}  // namespace limpid::onnx::detail
