#include "limpid/ops/softmax.h"

#include <fmt/format.h>

#include <limits>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

std::vector<Type> softmax_types(const Call& call) {
  require_floating(call, 0);
  const Shape& shape = call.inputs[0].shape;
  const std::int64_t axis = call.attributes.integer("axis");
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.rank()))
    throw Error(ErrorCode::kShape, fmt::format("{}: axis {} is outside of {}", where(call), axis,
                                               to_string(call.inputs[0])));
  return {call.inputs[0]};
}

Value shifted(const Value& x, std::int64_t axis) {
  return x - expand_axis(max(x, axis), x.shape(), axis);
}

Values softmax_body(std::span<const Value> in, const Attributes& attributes) {
  const std::int64_t axis = attributes.integer("axis");
  const Value e = exp(shifted(in[0], axis));
  return {e * expand_axis(1.0 / sum(e, axis), e.shape(), axis)};
}

// y (g - sum of g y)
Values softmax_gradient(const GradientCall& c) {
  const std::int64_t axis = c.attributes.integer("axis");
  const Value& y = c.outputs[0];
  const Value dot = sum(c.cotangents[0] * y, axis);
  return {y * (c.cotangents[0] - expand_axis(dot, y.shape(), axis))};
}

Values log_softmax_body(std::span<const Value> in, const Attributes& attributes) {
  const std::int64_t axis = attributes.integer("axis");
  const Value s = shifted(in[0], axis);
  return {s - expand_axis(log(sum(exp(s), axis)), s.shape(), axis)};
}

// g - softmax(x) sum of g
Values log_softmax_gradient(const GradientCall& c) {
  const std::int64_t axis = c.attributes.integer("axis");
  const Value total = expand_axis(sum(c.cotangents[0], axis), c.outputs[0].shape(), axis);
  return {c.cotangents[0] - softmax(c.inputs[0], axis) * total};
}

std::vector<Type> log_sum_exp_types(const Call& call) {
  softmax_types(call);
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  return {{call.inputs[0].dtype, call.inputs[0].shape.erase(axis)}};
}

// With an infinite maximum, inf - inf would be NaN; the terms need no shift then.
Values log_sum_exp_body(std::span<const Value> in, const Attributes& attributes) {
  const std::int64_t axis = attributes.integer("axis");
  const Value largest = max(in[0], axis);
  const Value infinity = number_like(largest, std::numeric_limits<double>::infinity());
  const Value shift = select(abs(largest) < infinity, largest, number_like(largest, 0));
  const Value terms = exp(in[0] - expand_axis(shift, in[0].shape(), axis));
  return {log(sum(terms, axis)) + shift};
}

Values log_sum_exp_gradient(const GradientCall& c) {
  const std::int64_t axis = c.attributes.integer("axis");
  return {softmax(c.inputs[0], axis) * expand_axis(c.cotangents[0], c.inputs[0].shape(), axis)};
}

template <const Op& op>
Values axis_batching(const BatchingCall& c) {
  return {call1(op, {c.inputs[0]}, {{"axis", c.attributes.integer("axis") + 1}})};
}

std::vector<Example> softmax_examples() {
  std::vector<Example> examples;
  for (Dtype d : {Dtype::kF32, Dtype::kF64}) {
    examples.push_back({{{d, {10}}}, {{"axis", std::int64_t{0}}}});
    examples.push_back({{{d, {3, 21}}}, {{"axis", std::int64_t{1}}}});
    examples.push_back({{{d, {4, 3}}}, {{"axis", std::int64_t{0}}}});
    examples.push_back({{{d, {2, 3, 5}}}, {{"axis", std::int64_t{2}}}});
  }
  return examples;
}

// ---- cross-entropy

Values cross_entropy_body(std::span<const Value> in, const Attributes&) {
  const Value terms = log_softmax(in[0], -1);
  const Value chosen = select(one_hot(in[1], terms.shape().back()), terms, number_like(terms, 0));
  return {-sum(chosen, -1)};
}

// prediction - target, each row times its cotangent. A row whose label is not a class is left out:
// its gradient is 0, whatever it holds.
Values cross_entropy_gradient(const GradientCall& c) {
  const Value prediction = softmax(c.inputs[0], -1);
  const Value target = cast(one_hot(c.inputs[1], prediction.shape().back()), prediction.dtype());
  const Shape shape = prediction.shape();
  const Value is_class = expand_axis(cast(sum(target, -1), Dtype::kBool), shape, -1);
  const Value slope = select(is_class, prediction - target, number_like(prediction, 0));
  return {slope * expand_axis(c.cotangents[0], shape, -1), Value()};
}

Values cross_entropy_batching(const BatchingCall& c) {
  return {call1(op::softmax_cross_entropy, {batched_input(c, 0), batched_input(c, 1)})};
}

std::vector<Example> cross_entropy_examples() {
  std::vector<Example> examples;
  for (Dtype d : {Dtype::kF32, Dtype::kF64}) {
    examples.push_back({{{d, {5}}, {Dtype::kI32, {}}}, {}, -2, 2, 5});
    examples.push_back({{{d, {6, 10}}, {Dtype::kI32, {6}}}, {}, -2, 2, 10});
    examples.push_back({{{d, {9, 3}}, {Dtype::kI32, {9}}}, {}, -2, 2, 6});  // some are no class
    examples.push_back({{{d, {2, 3, 4}}, {Dtype::kI32, {2, 3}}}, {}, -2, 2, 4});
  }
  return examples;
}

}  // namespace

namespace op {

constinit const Op softmax = complete({.name = "softmax",
                                       .formula = "e^(x - max) / sum of e^(x - max)",
                                       .shapes = "[...] -> [...]",
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .attributes = kAxisAttribute,
                                       .types = softmax_types,
                                       .body = softmax_body,
                                       .gradient = gradient(softmax_gradient),
                                       .batching = batching(axis_batching<softmax>),
                                       .flops = flops_of_body,
                                       .onnx = {"Softmax", 13},
                                       .examples = softmax_examples});

constinit const Op log_softmax = complete({.name = "log_softmax",
                                           .formula = "(x - max) - log(sum of e^(x - max))",
                                           .shapes = "[...] -> [...]",
                                           .min_inputs = 1,
                                           .max_inputs = 1,
                                           .attributes = kAxisAttribute,
                                           .types = softmax_types,
                                           .body = log_softmax_body,
                                           .gradient = gradient(log_softmax_gradient),
                                           .batching = batching(axis_batching<log_softmax>),
                                           .flops = flops_of_body,
                                           .onnx = {"LogSoftmax", 13},
                                           .examples = softmax_examples});

constinit const Op log_sum_exp = complete({.name = "log_sum_exp",
                                           .formula = "max + log(sum of e^(x - max))",
                                           .shapes = "[...] -> [...] without `axis`",
                                           .min_inputs = 1,
                                           .max_inputs = 1,
                                           .attributes = kAxisAttribute,
                                           .types = log_sum_exp_types,
                                           .body = log_sum_exp_body,
                                           .gradient = gradient(log_sum_exp_gradient),
                                           .batching = batching(axis_batching<log_sum_exp>),
                                           .flops = flops_of_body,
                                           .onnx = {"ReduceLogSumExp", 18},
                                           .examples = softmax_examples});

constinit const Op softmax_cross_entropy =
    complete({.name = "softmax_cross_entropy",
              .formula = "-log_softmax(logits)[label]",
              .shapes = "logits[..., classes], labels[...] -> [...]",
              .min_inputs = 2,
              .max_inputs = 2,
              .attributes = kNoAttributes,
              .types = labelled_types,
              .body = cross_entropy_body,
              .gradient = gradient(cross_entropy_gradient),
              .batching = batching(cross_entropy_batching),
              .flops = flops_of_body,
              .onnx = {"SoftmaxCrossEntropyLoss", 13},
              .examples = cross_entropy_examples});

}  // namespace op

constexpr const Op* kSoftmaxOps[] = {&op::softmax, &op::log_softmax, &op::log_sum_exp,
                                     &op::softmax_cross_entropy};
constexpr OpList softmax_ops = kSoftmaxOps;

namespace {

Value along(const Op& op, const Value& x, std::int64_t axis) {
  const std::size_t from_front = normalize_axis(axis, x.rank(), op.name);
  return call1(op, {x}, {{"axis", static_cast<std::int64_t>(from_front)}});
}

}  // namespace

Value softmax(Value x, std::int64_t axis) { return along(op::softmax, x, axis); }
Value log_softmax(Value x, std::int64_t axis) { return along(op::log_softmax, x, axis); }
Value log_sum_exp(Value x, std::int64_t axis) { return along(op::log_sum_exp, x, axis); }

Value softmax_cross_entropy(Value logits, Value labels) {
  return call1(op::softmax_cross_entropy, {logits, labels_as_i32(labels)});
}

Value labels_as_i32(Value labels) {
  const Dtype dtype = labels.dtype();
  if (dtype == Dtype::kI8 || dtype == Dtype::kU8) return cast(labels, Dtype::kI32);
  if (dtype != Dtype::kI64) return labels;
  using Limits = std::numeric_limits<std::int32_t>;  // cast() wraps around
  return cast(maximum(minimum(labels, Limits::max()), Limits::min()), Dtype::kI32);
}

Value one_hot(Value labels, std::int64_t classes) {
  labels = labels_as_i32(labels);
  const Shape shape = labels.shape().insert(labels.rank(), classes);
  const Value places = broadcast(iota(labels.builder(), classes), shape);
  return places == expand_axis(labels, shape, -1);
}

}  // namespace limpid
