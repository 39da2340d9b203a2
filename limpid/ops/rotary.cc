#include "limpid/ops/rotary.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kRotaryAttributes[] = {{"interleaved", AttributeKind::kBool}};

std::vector<Type> rotary_types(const Call& call) {
  require_floating(call, 0);
  require_dtype(call, 1, call.inputs[0].dtype);
  require_same_types(call, 1);
  const Shape& x = call.inputs[0].shape;
  const Shape& angles = call.inputs[1].shape;
  const auto fits = [&] {
    if (x.rank() == 0 || angles.rank() == 0 || 2 * angles.back() > x.back()) return false;
    const Shape rows = x.replace(x.rank() - 1, angles.back());
    return common_shape(angles, rows, where(call)) == rows;
  };
  if (!fits())
    throw Error(ErrorCode::kShape,
                fmt::format("{}: x is {}, cosines and sines {}; expected angles for at most half "
                            "of a row, broadcastable to its other dimensions",
                            where(call), to_string(call.inputs[0]), to_string(call.inputs[1])));
  return {call.inputs[0]};
}

Values rotary_body(std::span<const Value> in, const Attributes& attributes) {
  const Value x = in[0];
  const std::int64_t half = in[1].shape().back();
  const std::size_t last = x.rank() - 1;
  const Shape rows = x.shape().replace(last, half);
  const Value cos = broadcast(in[1], rows), sin = broadcast(in[2], rows);
  const Value turned = slice(x, -1, 0, 2 * half);
  const auto rotated = [&](Value a, Value b) {
    return Values{a * cos - b * sin, a * sin + b * cos};
  };
  Value y;
  if (attributes.get<bool>("interleaved")) {
    const Shape pairs = rows.insert(last + 1, 2), column = rows.insert(last + 1, 1);
    const Values ab = split(reshape(turned, pairs), 2, -1);
    Values parts = rotated(reshape(ab[0], rows), reshape(ab[1], rows));
    for (Value& part : parts) part = reshape(part, column);
    y = reshape(concatenate(parts, -1), turned.shape());
  } else {
    const Values ab = split(turned, 2, -1);
    y = concatenate(rotated(ab[0], ab[1]), -1);
  }
  if (2 * half == x.shape().back()) return {y};
  return {concatenate({y, slice(x, -1, 2 * half, x.shape().back())}, -1)};
}

std::vector<Example> rotary_examples() {
  const Attributes halves{{"interleaved", false}}, neighbours{{"interleaved", true}};
  const Dtype f32 = Dtype::kF32, f64 = Dtype::kF64;
  return {{{{f32, {5, 8}}, {f32, {5, 4}}, {f32, {5, 4}}}, halves},
          {{{f32, {2, 3, 5, 6}}, {f32, {2, 1, 5, 3}}, {f32, {2, 1, 5, 3}}}, neighbours},
          {{{f64, {2, 3, 7}}, {f64, {3, 2}}, {f64, {3, 2}}}, halves},
          {{{f64, {2, 3, 7}}, {f64, {3, 2}}, {f64, {3, 2}}}, neighbours}};
}

}  // namespace

namespace op {

constinit const Op rotary_embedding =
    complete({.name = "rotary_embedding",
              .formula = "pairs of the first numbers of each row, rotated by their angles",
              .shapes = "x[..., D], cos and sin broadcast to [..., R / 2] -> that of x; R <= D",
              .min_inputs = 3,
              .max_inputs = 3,
              .attributes = kRotaryAttributes,
              .types = rotary_types,
              .body = rotary_body,
              .gradient = gradient_through_body(),
              .batching = batching_through_body(),
              .flops = flops_of_body,
              .onnx = {},
              .source = "Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding "
                        "(2021), section 3.2.2",
              .examples = rotary_examples});

}  // namespace op

constexpr const Op* kRotaryOps[] = {&op::rotary_embedding};
constexpr OpList rotary_ops = kRotaryOps;

Value rotary_embedding(Value x, Value cos, Value sin, bool interleaved) {
  return call1(op::rotary_embedding, {x, cos, sin}, {{"interleaved", interleaved}});
}

}  // namespace limpid
