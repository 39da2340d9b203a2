// Normalisation.
#include "limpid/ops/norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

// ---- batches

// The mean over the axes, which keep size 1.
Value mean_keeping(Value x, const std::vector<std::size_t>& axes) {
  for (const std::size_t axis : axes)
    x = reshape(mean(x, static_cast<std::int64_t>(axis)), x.shape().replace(axis, 1));
  return x;
}

struct Moments {
  Value mean, variance;
};
Moments moments_keeping(Value x, const std::vector<std::size_t>& axes) {
  const Value center = mean_keeping(x, axes);
  const Value centered = x - center;
  return {center, mean_keeping(centered * centered, axes)};
}

// Statistics of the batch in training, and running ones whose variance divides by the number of
// elements (PyTorch's by one less). Outputs: Y and the running ones; before version 14 the batch's
// own as well.
Values batch_norm_in_training(Node& node) {
  const Value x = node.input(0);
  std::vector<std::size_t> axes;
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (d != 1) axes.push_back(d);
  const auto by_channel = [&](Value v) {
    Shape shape = v.shape();
    while (shape.rank() + 1 < x.rank()) shape = shape.insert(shape.rank(), 1);
    return reshape(cast(v, x.dtype()), shape);
  };
  const Moments batch = moments_keeping(x, axes);
  const double epsilon = node.real("epsilon", 1e-5);
  const Value y = (x - batch.mean) * rsqrt(batch.variance + epsilon) * by_channel(node.input(1)) +
                  by_channel(node.input(2));
  const double momentum = node.real("momentum", 0.9);
  const auto running = [&](Value old, Value now) {
    const Value current = cast(reshape(now, old.shape()), old.dtype());
    return old * momentum + current * (1 - momentum);
  };
  const Value mean = running(node.input(3), batch.mean);
  const Value variance = running(node.input(4), batch.variance);
  if (node.version() >= 14) return {y, mean, variance};
  return {y, mean, variance, reshape(batch.mean, node.input(3).shape()),
          reshape(batch.variance, node.input(4).shape())};
}

Values import_batch_norm(Node& node) {
  const Value x = node.input(0);
  if (x.rank() < 2)
    node.fail(ErrorCode::kShape,
              fmt::format("{} has no channels, expected (N, C, ...)", to_string(x.type())));
  if (!node.flag("spatial", true))
    node.fail(ErrorCode::kUnsupported, "statistics of every element (spatial 0)");
  const bool in_training = node.version() >= 14  ? node.flag("training_mode", false)
                           : node.version() >= 7 ? node.wants_output(1)
                                                 : !node.flag("is_test", false);
  if (in_training) return batch_norm_in_training(node);
  const auto as_x = [&](std::size_t i) { return cast(node.input(i), x.dtype()); };
  return {batch_norm_inference(x, as_x(1), as_x(2), as_x(3), as_x(4), node.real("epsilon", 1e-5))};
}

// ---- rows

// x as rows of all dimensions from an axis on.
Value as_rows(const Value& x, std::size_t axis) {
  return reshape(x, {Shape(x.shape().dims().first(axis)).elements(),
                     Shape(x.shape().dims().subspan(axis)).elements()});
}

std::size_t first_normalized(const Node& node, const Value& x) {
  return normalize_axis(node.integer("axis", -1), x.rank(), "axis");
}

// A statistic per row with the rank of x, in the dtype in which statistics are output.
Value of_rows(const Node& node, const Value& v, const Value& x, std::size_t axis) {
  Shape shape = x.shape();
  for (std::size_t d = axis; d < x.rank(); ++d) shape = shape.replace(d, 1);
  const bool as_f32 = node.integer("stash_type", 1) == 1;
  return reshape(as_f32 ? cast(v, Dtype::kF32) : v, shape);
}

Values import_layer_norm(Node& node) {
  const Value x = node.input(0);
  const std::size_t axis = first_normalized(node, x);
  const double epsilon = node.real("epsilon", 1e-5);
  const Shape within(x.shape().dims().subspan(axis));
  const auto over_rows = [&](Value v) { return v ? broadcast(v, within) : v; };
  Values outputs{
      layer_norm(x, over_rows(node.input(1)), over_rows(node.optional_input(2)), epsilon)};
  if (!node.wants_output(1) && !node.wants_output(2)) return outputs;
  const Moments moments = moments_keeping(as_rows(x, axis), {1});
  outputs.push_back(of_rows(node, moments.mean, x, axis));
  outputs.push_back(of_rows(node, rsqrt(moments.variance + epsilon), x, axis));
  return outputs;
}

// The scale is broadcast to all of x, or to its rows as that of rms_norm.
Values import_rms_norm(Node& node) {
  const Value x = node.input(0);
  const Value scale = node.input(1);
  const std::size_t axis = first_normalized(node, x);
  const double epsilon = node.real("epsilon", 1e-5);
  const Shape within(x.shape().dims().subspan(axis));
  if (scale.rank() <= within.rank()) return {rms_norm(x, broadcast(scale, within), epsilon)};
  return {reshape(rms_norm(as_rows(x, axis), {}, epsilon), x.shape()) * scale};
}

// ---- channels

// Before version 21 there was one scale per group, not per channel.
Values import_group_norm(Node& node) {
  const Value x = node.input(0);
  const std::int64_t groups = node.integer("num_groups");
  const double epsilon = node.real("epsilon", 1e-5);
  if (groups < 1 || x.rank() < 2 || x.shape()[1] % groups != 0)
    node.fail(ErrorCode::kShape, fmt::format("the channels of {1} do not split into {0} groups",
                                             groups, to_string(x.type())));
  const std::int64_t channels = x.shape()[1];
  const auto by_channel = [&](Value v) {
    if (node.version() >= 21) return v;
    return reshape(broadcast(reshape(v, {groups, 1}), {groups, channels / groups}), {channels});
  };
  return {group_norm(x, groups, by_channel(node.input(1)), by_channel(node.input(2)), epsilon)};
}

Values import_instance_norm(Node& node) {
  const Value x = node.input(0);
  if (x.rank() < 2)
    node.fail(ErrorCode::kShape,
              fmt::format("{} has no channels, expected (N, C, ...)", to_string(x.type())));
  return {group_norm(x, x.shape()[1], node.input(1), node.input(2), node.real("epsilon", 1e-5))};
}

// Over a window of channels around each one: (size - 1) / 2 before it, the rest after.
Values import_local_response_norm(Node& node) {
  const Value x = node.input(0);
  const std::int64_t size = node.integer("size");
  if (size < 1 || size > 1024 || x.rank() < 2)
    node.fail(ErrorCode::kUnsupported,
              fmt::format("a window of {} channels of {}", size, to_string(x.type())));
  const std::int64_t channels = x.shape()[1];
  std::vector<std::int64_t> low(x.rank(), 0), high(x.rank(), 0), none(x.rank(), 0);
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  const Value squares = pad(x * x, low, high, none);
  Value total = slice(squares, 1, 0, channels);
  for (std::int64_t i = 1; i < size; ++i) total = total + slice(squares, 1, i, i + channels);
  const double alpha = node.real("alpha", 1e-4) / static_cast<double>(size);
  return {x / power(total * alpha + node.real("bias", 1), node.real("beta", 0.75))};
}

// ---- lines

// 0 if all elements are 0.
Values import_lp_norm(Node& node) {
  const Value x = node.input(0);
  const std::int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2)
    node.fail(ErrorCode::kUnsupported, fmt::format("expected the norm p 1 or 2, got {}", p));
  const std::size_t axis = first_normalized(node, x);
  const auto line = static_cast<std::int64_t>(axis);
  const auto size_of = [&](const Value& v) { return sum(p == 1 ? abs(v) : v * v, line); };
  const auto along = [&](const Value& v) { return expand_axis(v, x.shape(), line); };
  const Value scaled = x * along(unit_for_squares(size_of(x)));
  const Value size = size_of(scaled);
  const Value divisor = along(p == 1 ? size : sqrt(size));
  const Value zero = full_like(x, 0);
  return {select(divisor == zero, zero, scaled / divisor)};
}

Values import_mean_variance_norm(Node& node) {
  const Value x = node.input(0);
  std::vector<std::size_t> axes;
  const std::vector<std::int64_t> named =
      node.has("axes") ? node.integers("axes") : std::vector<std::int64_t>{0, 2, 3};
  for (const std::int64_t axis : named) axes.push_back(normalize_axis(axis, x.rank(), "axes"));
  const Moments moments = moments_keeping(x, axes);
  return {(x - moments.mean) / (sqrt(moments.variance) + 1e-9)};
}

constexpr NodeOp kNormsOperators[] = {
    {.name = "BatchNormalization",
     .meaning = "batch_norm_inference; in training with the batch's statistics",
     .import = import_batch_norm},
    {.name = "GroupNormalization",
     .since = 18,
     .meaning = "group_norm",
     .import = import_group_norm},
    {.name = "InstanceNormalization",
     .meaning = "group_norm with a group for every channel",
     .import = import_instance_norm},
    {.name = "LRN",
     .meaning = "x / (bias + alpha / size * squares of nearby channels)^beta",
     .import = import_local_response_norm},
    {.name = "LayerNormalization",
     .since = 17,
     .meaning = "layer_norm; also mean and 1 / standard deviation if used",
     .import = import_layer_norm},
    {.name = "LpNormalization", .meaning = "x / its norm along an axis", .import = import_lp_norm},
    {.name = "MeanVarianceNormalization",
     .since = 9,
     .meaning = "(x - mean) / (standard deviation + 1e-9) over axes",
     .import = import_mean_variance_norm},
    {.name = "RMSNormalization", .since = 23, .meaning = "rms_norm", .import = import_rms_norm},
};

}  // namespace

constexpr std::span<const NodeOp> norm_operators = kNormsOperators;

}  // namespace limpid::onnx::detail
