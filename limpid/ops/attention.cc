#include "limpid/ops/attention.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/families.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/softmax.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kAttentionAttributes[] = {{"causal", AttributeKind::kBool},
                                                  {"scale", AttributeKind::kReal}};

// The dimensions before the last `count`.
std::span<const std::int64_t> leading(const Shape& shape, std::size_t count) {
  return shape.dims().first(shape.rank() - count);
}
std::int64_t from_end(const Shape& shape, std::size_t i) { return shape[shape.rank() - i]; }

Shape with_matrix(std::span<const std::int64_t> lead, std::int64_t rows, std::int64_t columns) {
  return Shape(lead).insert(lead.size(), rows).insert(lead.size() + 1, columns);
}

// k and v have the leading dimensions of q, but for the heads, which may be fewer.
bool heads_fit(const Shape& q, const Shape& k) {
  if (q.rank() == 2) return true;
  const auto a = leading(q, 3), b = leading(k, 3);
  return std::equal(a.begin(), a.end(), b.begin()) && from_end(k, 3) > 0 &&
         from_end(q, 3) % from_end(k, 3) == 0;
}

std::vector<Type> attention_types(const Call& call) {
  require_floating(call, 0);
  require_dtype(call, 1, call.inputs[0].dtype);
  require_dtype(call, 2, call.inputs[0].dtype);
  const Shape& q = call.inputs[0].shape;
  const Shape& k = call.inputs[1].shape;
  const Shape& v = call.inputs[2].shape;
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorCode::kShape, fmt::format("{}: {}: q {}, k {}, v {} came", where(call), what,
                                               to_string(call.inputs[0]), to_string(call.inputs[1]),
                                               to_string(call.inputs[2])));
  };
  if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank())
    fail("three operands of one rank, 2 or more, are expected");
  if (q.back() != k.back()) fail("queries and keys must have one size");
  if (!(k.erase(k.rank() - 1) == v.erase(v.rank() - 1)))
    fail("there must be a value for every key");
  if (!heads_fit(q, k)) fail("leading dimensions must be equal, heads of k must divide those of q");
  if (call.inputs.size() == 4) {
    const Shape scores = with_matrix(leading(q, 2), from_end(q, 2), from_end(k, 2));
    if (call.inputs[3].dtype != Dtype::kBool) require_dtype(call, 3, call.inputs[0].dtype);
    if (!(common_shape(call.inputs[3].shape, scores, where(call)) == scores))
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: mask {} does not stretch to the scores' {}", where(call),
                              to_string(call.inputs[3]), to_string(scores)));
  }
  return {{call.inputs[0].dtype, q.replace(q.rank() - 1, v.back())}};
}

// Whether query i sees key j: i + (S - L) >= j.
Value causal_mask(Builder& builder, std::int64_t queries, std::int64_t keys) {
  const Value last = iota(builder, queries) + static_cast<double>(keys - queries);
  return expand_axis(last, {queries, keys}, 1) >= iota(builder, keys);
}

Values attention_body(std::span<const Value> in, const Attributes& attributes) {
  const Shape q = in[0].shape();
  const Shape k = in[1].shape();
  const std::int64_t queries = from_end(q, 2);
  const std::int64_t keys = from_end(k, 2);
  // Query heads of one key head stand below each other: one product for all of them.
  const Shape grouped =
      q.rank() == 2
          ? q
          : with_matrix(leading(k, 2), from_end(q, 3) / from_end(k, 3) * queries, q.back());
  const Value scaled = in[0] * attributes.get<double>("scale");
  Value scores = reshape(matmul(reshape(scaled, grouped), in[1], false, true),
                         with_matrix(leading(q, 2), queries, keys));
  const Value hidden = number_like(scores, -std::numeric_limits<double>::infinity());
  if (attributes.get<bool>("causal"))
    scores = select(causal_mask(scores.builder(), queries, keys), scores, hidden);
  if (in.size() == 4)
    scores = in[3].dtype() == Dtype::kBool ? select(in[3], scores, hidden) : scores + in[3];
  const Value weights =
      reshape(softmax(scores, -1), with_matrix(leading(grouped, 2), from_end(grouped, 2), keys));
  return {reshape(matmul(weights, in[2]), q.replace(q.rank() - 1, in[2].shape().back()))};
}

Values attention_batching(const BatchingCall& c) {
  Values in;
  for (std::size_t i = 0; i < 3; ++i) in.push_back(batched_input(c, i));
  // A mask of its own for every example stands beside that example's scores.
  if (c.inputs.size() == 4) {
    Value mask = c.inputs[3];
    if (c.batched[3]) {
      Shape shape = mask.shape();
      while (shape.rank() < in[0].rank()) shape = shape.insert(1, 1);
      mask = reshape(mask, shape);
    }
    in.push_back(mask);
  }
  // Without heads the batch would take their place.
  if (in[0].rank() > 3) return call(op::scaled_dot_product_attention, in, c.attributes);
  for (Value& v : in) v = v.rank() < 3 ? v : reshape(v, v.shape().insert(1, 1));
  const Value y = call(op::scaled_dot_product_attention, in, c.attributes)[0];
  return {reshape(y, y.shape().erase(1))};
}

std::vector<Example> attention_examples() {
  const Attributes plain{{"causal", false}, {"scale", 0.5}};
  const Attributes causal{{"causal", true}, {"scale", 0.25}};
  const Dtype f32 = Dtype::kF32, f64 = Dtype::kF64;
  return {{{{f32, {5, 4}}, {f32, {7, 4}}, {f32, {7, 3}}}, plain},
          {{{f32, {2, 19, 8}}, {f32, {2, 19, 8}}, {f32, {2, 19, 8}}}, causal},
          {{{f64, {3, 4}}, {f64, {6, 4}}, {f64, {6, 2}}}, causal},
          {{{f64, {2, 4, 3, 2}}, {f64, {2, 2, 5, 2}}, {f64, {2, 2, 5, 3}}}, causal},
          {{{f32, {2, 3, 4}}, {f32, {1, 17, 4}}, {f32, {1, 17, 4}}, {f32, {3, 17}}}, plain},
          {{{f64, {2, 3, 4}}, {f64, {2, 4, 4}}, {f64, {2, 4, 2}}, {f64, {2, 1, 4}}}, plain}};
}

}  // namespace

namespace op {

constexpr Op scaled_dot_product_attention =
    complete({.name = "scaled_dot_product_attention",
              .formula = "softmax(q k^T scale + mask) v; `causal` hides key j from query i where "
                         "j > i + (S - L)",
              .shapes = "q[..., H, L, D], k[..., G, S, D], v[..., G, S, E], mask to [..., H, L, S] "
                        "-> [..., H, L, E]; G divides H",
              .min_inputs = 3,
              .max_inputs = 4,
              .attributes = kAttentionAttributes,
              .types = attention_types,
              .body = attention_body,
              .gradient = gradient_through_body(),
              .batching = batching(attention_batching),
              .flops = flops_of_body,
              .kernel = {},
              .onnx = {"Attention", 23},
              .source = "Vaswani et al., Attention Is All You Need (2017), section 3.2.1; grouped "
                        "heads: Ainslie et al., GQA (2023)",
              .examples = attention_examples});

}  // namespace op

Value scaled_dot_product_attention(Value q, Value k, Value v, const AttentionOptions& options) {
  const double size = q.rank() == 0 ? 1 : static_cast<double>(q.shape().back());
  const double scale = options.scale == 0 ? 1 / std::sqrt(size) : options.scale;
  std::vector<Value> in{q, k, v};
  if (options.mask) in.push_back(options.mask);
  return call(op::scaled_dot_product_attention, in,
              {{"causal", options.causal}, {"scale", scale}})[0];
}

}  // namespace limpid
