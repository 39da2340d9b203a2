#include "limpid/ops/cumulative.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kCumulativeAttributes[] = {{"axis", AttributeKind::kInteger},
                                                   {"exclusive", AttributeKind::kBool},
                                                   {"reverse", AttributeKind::kBool}};

std::vector<Type> cumulative_types(const Call& call) {
  require_numeric(call, 0);
  const std::int64_t axis = call.attributes.integer("axis");
  if (axis < 0 || axis >= static_cast<std::int64_t>(call.inputs[0].shape.rank()))
    throw Error(ErrorCode::kShape, fmt::format("{}: axis {} is outside of {}", where(call), axis,
                                               to_string(call.inputs[0])));
  return {call.inputs[0]};
}

// Hillis and Steele, Data Parallel Algorithms (1986): if every element holds the sum of the last d
// elements, adding the element d places before gives the sum of the last 2 d. Sums of pairs of sums
// also lose less than one long sum.
Values cumulative_body(std::span<const Value> in, const Attributes& attributes) {
  const std::int64_t axis = attributes.integer("axis");
  const auto a = static_cast<std::size_t>(axis);
  const bool reverse = attributes.get<bool>("reverse");
  const std::int64_t n = in[0].shape()[a];
  const auto part = [&](const Value& v, std::int64_t from, std::int64_t to) {
    return slice(v, axis, from, to);
  };
  const auto side_by_side = [&](Value done, Value rest) {
    return reverse ? concatenate({rest, done}, axis) : concatenate({done, rest}, axis);
  };
  Value x = in[0];
  if (x.shape().elements() == 0) return {x};  // the axis may be of any size
  for (std::int64_t d = 1; d < n; d *= 2) {
    const Value sums = part(x, d, n) + part(x, 0, n - d);
    x = side_by_side(reverse ? part(x, n - d, n) : part(x, 0, d), sums);
  }
  if (!attributes.get<bool>("exclusive")) return {x};
  const Value nothing = broadcast(constant(x.builder(), 0, x.dtype()), x.shape().replace(a, 1));
  return {side_by_side(nothing, reverse ? part(x, 1, n) : part(x, 0, n - 1))};
}

Attributes cumulative_attributes(std::int64_t axis, bool exclusive, bool reverse) {
  return {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}};
}

Values cumulative_batching(const BatchingCall& c) {
  return call(
      op::cumulative_sum, c.inputs,
      cumulative_attributes(c.attributes.integer("axis") + 1, c.attributes.get<bool>("exclusive"),
                            c.attributes.get<bool>("reverse")));
}

std::vector<Example> cumulative_examples() {
  return {{{{Dtype::kF32, {37}}}, cumulative_attributes(0, false, false)},
          {{{Dtype::kF32, {3, 19}}}, cumulative_attributes(1, true, false)},
          {{{Dtype::kF64, {5, 3}}}, cumulative_attributes(0, false, true)},
          {{{Dtype::kF64, {2, 4, 3}}}, cumulative_attributes(1, true, true)},
          {{{Dtype::kI32, {9}}}, cumulative_attributes(0, false, true), -2, 2, 1000},
          {{{Dtype::kI64, {2, 8}}}, cumulative_attributes(1, true, false), -2, 2, 1000}};
}

}  // namespace

namespace op {

constinit const Op cumulative_sum = complete(
    {.name = "cumulative_sum",
     .formula = "cumulative sum along an axis; `exclusive`: without the element itself; `reverse`: "
                "from the end",
     .shapes = "[...] -> [...]",
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kCumulativeAttributes,
     .types = cumulative_types,
     .body = cumulative_body,
     .gradient = gradient_through_body(),
     .batching = batching(cumulative_batching),
     .flops = flops_of_body,
     .onnx = {"CumSum", 14},
     .source = "Hillis and Steele, Data Parallel Algorithms (1986), section on partial sums",
     .examples = cumulative_examples});

}  // namespace op

constexpr const Op* kCumulativeOps[] = {&op::cumulative_sum};
constexpr OpList cumulative_ops = kCumulativeOps;

Value cumulative_sum(Value x, std::int64_t axis, const CumulativeOptions& options) {
  const std::size_t a = normalize_axis(axis, x.rank(), op::cumulative_sum.name);
  const Attributes attributes =
      cumulative_attributes(static_cast<std::int64_t>(a), options.exclusive, options.reverse);
  return added_up(x, [&](const Value& v) {
    return call1(op::cumulative_sum, {is_floating(v.dtype()) ? v : cast(v, Dtype::kI64)},
                 attributes);
  });
}

}  // namespace limpid
