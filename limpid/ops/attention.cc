#include "limpid/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "limpid/core/attend.h"
#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/attention_weights.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
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

Shape scores_shape(const Shape& q, const Shape& k) {
  return with_matrix(leading(q, 2), from_end(q, 2), from_end(k, 2));
}

// k and v have the leading dimensions of q, except that they may have fewer heads.
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
    throw Error(ErrorCode::kShape, fmt::format("{}: {}, got q {}, k {}, v {}", where(call), what,
                                               to_string(call.inputs[0]), to_string(call.inputs[1]),
                                               to_string(call.inputs[2])));
  };
  if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank())
    fail("expected three operands of one rank, 2 or more");
  if (q.back() != k.back()) fail("expected queries and keys of one size");
  if (!(k.erase(k.rank() - 1) == v.erase(v.rank() - 1))) fail("expected a value for every key");
  if (!heads_fit(q, k))
    fail("expected equal leading dimensions and heads of k that divide those of q");
  if (call.inputs.size() == 4) {
    if (call.inputs[3].dtype != Dtype::kBool) require_dtype(call, 3, call.inputs[0].dtype);
    const Shape scores = scores_shape(q, k);
    if (!(call.inputs[3].shape == scores))
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: mask {} is not of the scores' shape {}", where(call),
                              to_string(call.inputs[3]), to_string(scores)));
  }
  return {{call.inputs[0].dtype, q.replace(q.rank() - 1, v.back())}};
}

// ---- reference

void attention_reference(const Call& call, std::span<const void* const> in,
                         std::span<void* const> out) {
  const arithmetic::AttentionSizes sizes = attention_sizes(call);
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> scratch(sizes.size + sizes.keys);
    const auto run = [&](const auto& mask) {
      arithmetic::attend(sizes, static_cast<const T*>(in[0]), static_cast<const T*>(in[1]),
                         static_cast<const T*>(in[2]), mask, scratch.data(),
                         static_cast<T*>(out[0]));
    };
    if (in.size() == 3) return run(arithmetic::EveryKey{});
    if (call.inputs[3].dtype == Dtype::kBool)
      return run(arithmetic::SeenKeys{static_cast<const bool*>(in[3])});
    run(arithmetic::AddedNumbers<T>{static_cast<const T*>(in[3])});
  });
}

// ---- the same by parts

// Whether query i sees key j: i + (S - L) >= j.
Value causal_mask(Builder& builder, std::int64_t queries, std::int64_t keys) {
  const Value last = iota(builder, queries) + static_cast<double>(keys - queries);
  return expand_axis(last, {queries, keys}, 1) >= iota(builder, keys);
}

// Attention with one product for all query heads of a key head: their rows are stacked.
struct AttentionParts {
  Shape grouped;  // of q (..., G, H / G * L, D)
  Value scaled;   // q * scale in that shape
  Value weights;  // (..., G, H / G * L, S)
  Value seen;     // of the shape of the weights; no value if all keys are visible
};

// The boolean mask of visible keys, (..., H, L, S); no value if all are visible.
Value seen_keys(std::span<const Value> in, bool causal, const Shape& scores) {
  const std::int64_t queries = from_end(scores, 2), keys = scores.back();
  Value seen;
  if (causal) seen = broadcast(causal_mask(in[0].builder(), queries, keys), scores);
  if (in.size() < 4) return seen;
  const Value& mask = in[3];
  const Value allowed =
      mask.dtype() == Dtype::kBool
          ? mask
          : not_equal(mask, number_like(mask, -std::numeric_limits<double>::infinity()));
  return seen ? logical_and(seen, allowed) : allowed;
}

// A product with this instead of x is finite where x has a weight of 0. Where the weight is not 0,
// the result of attention is not finite either.
Value finite_or_zero(const Value& x) {
  const Value infinity = number_like(x, std::numeric_limits<double>::infinity());
  return select(abs(x) < infinity, x, number_like(x, 0));
}

AttentionParts parts_of(std::span<const Value> in, const Attributes& attributes) {
  const Shape q = in[0].shape();
  const Shape k = in[1].shape();
  const bool causal = attributes.get<bool>("causal");
  AttentionParts parts;
  parts.grouped =
      q.rank() == 2
          ? q
          : with_matrix(leading(k, 2), from_end(q, 3) / from_end(k, 3) * from_end(q, 2), q.back());
  parts.scaled = reshape(in[0] * attributes.get<double>("scale"), parts.grouped);
  Value scores = reshape(matmul(parts.scaled, in[1], false, true), scores_shape(q, k));
  const Value seen = seen_keys(in, causal, scores.shape());
  if (in.size() == 4 && in[3].dtype() != Dtype::kBool) scores = scores + in[3];
  // Not -infinity: a row without a visible key would become NaN, and so would its derivatives.
  constexpr double kHidden = std::numeric_limits<float>::lowest();
  if (seen) scores = select(seen, scores, number_like(scores, kHidden));
  Value weights = softmax(scores, -1);
  const bool all_rows_see = in.size() == 3 && from_end(q, 2) <= from_end(k, 2);
  if (seen && !all_rows_see) weights = select(seen, weights, number_like(weights, 0));
  const Shape of_groups = parts.grouped.replace(q.rank() - 1, from_end(k, 2));
  parts.weights = reshape(weights, of_groups);
  if (seen) parts.seen = reshape(seen, of_groups);
  return parts;
}

// With P the weights and G the cotangent: dV = P^T G, dP = G V^T, and through the softmax
// dS = P (dP - sum of dP P); dQ = scale dS K, dK = dS^T (scale Q). A key that is not seen has no
// effect, whatever it holds: dP and dS are 0 there.
Values attention_gradient(const GradientCall& c) {
  Values in(c.inputs.begin(), c.inputs.end());
  const bool masked = in.size() == 4 || c.attributes.get<bool>("causal");
  if (masked)
    for (const std::size_t i : {1, 2}) in[i] = finite_or_zero(in[i]);
  const AttentionParts parts = parts_of(in, c.attributes);
  const Shape q = in[0].shape();
  const Value &k = in[1], &v = in[2];
  const Value& p = parts.weights;
  const auto only_seen = [&](const Value& x) {
    return masked ? select(parts.seen, x, number_like(x, 0)) : x;
  };
  const Value g = reshape(c.cotangents[0], parts.grouped.replace(q.rank() - 1, v.shape().back()));
  const Value dp = only_seen(matmul(g, v, false, true));
  const Value ds = only_seen(p * (dp - expand_axis(sum(dp * p, -1), p.shape(), -1)));
  const Value dq = reshape(matmul(ds, k), q) * c.attributes.get<double>("scale");
  Values all{dq, matmul(ds, parts.scaled, true, false), matmul(p, g, true, false)};
  if (c.inputs.size() == 4)
    all.push_back(c.inputs[3].dtype() == Dtype::kBool ? Value() : reshape(ds, c.inputs[3].shape()));
  return all;
}

// ----

Values attention_batching(const BatchingCall& c) {
  Values in;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) in.push_back(batched_input(c, i));
  // Without a dimension of heads, the batch dimension would be taken for it.
  if (in[0].rank() > 3) return call(op::scaled_dot_product_attention, in, c.attributes);
  for (Value& v : in) v = reshape(v, v.shape().insert(1, 1));
  const Value y = call(op::scaled_dot_product_attention, in, c.attributes)[0];
  return {reshape(y, y.shape().erase(1))};
}

// For each pair of a query and a visible key: two products, and five operations of softmax.
std::int64_t attention_flops(const Call& call) {
  const arithmetic::AttentionSizes s = attention_sizes(call);
  const auto queries = static_cast<std::int64_t>(s.queries),
             keys = static_cast<std::int64_t>(s.keys);
  std::int64_t pairs = product_or_most(queries, keys);
  if (call.attributes.get<bool>("causal")) {
    const std::int64_t few = std::min(queries, keys);  // the last ones of them see one key less
    pairs = product_or_most(few, keys) - product_or_most(few, few - 1) / 2;
  }
  const auto each = static_cast<std::int64_t>(2 * (s.size + s.value_size) + 5);
  return product_or_most(product_or_most(pairs, each),
                         static_cast<std::int64_t>(s.heads * s.group));
}

std::vector<Example> attention_examples() {
  const Attributes plain{{"causal", false}, {"scale", 0.5}};
  const Attributes causal{{"causal", true}, {"scale", 0.25}};
  const Dtype f32 = Dtype::kF32, f64 = Dtype::kF64, boolean = Dtype::kBool;
  return {
      {{{f32, {5, 4}}, {f32, {7, 4}}, {f32, {7, 3}}}, plain},
      {{{f32, {2, 19, 8}}, {f32, {2, 19, 8}}, {f32, {2, 19, 8}}}, causal},
      {{{f64, {3, 4}}, {f64, {6, 4}}, {f64, {6, 2}}}, causal},
      {{{f64, {2, 4, 3, 2}}, {f64, {2, 2, 5, 2}}, {f64, {2, 2, 5, 3}}}, causal},
      {{{f32, {4, 3, 5}}, {f32, {2, 20, 5}}, {f32, {2, 20, 16}}, {boolean, {4, 3, 20}}}, causal},
      {{{f32, {2, 3, 4}}, {f32, {1, 17, 4}}, {f32, {1, 17, 4}}, {f32, {2, 3, 17}}}, plain},
      {{{f32, {5, 3}}, {f32, {2, 3}}, {f32, {2, 4}}}, causal},
      {{{f64, {2, 3, 4}}, {f64, {2, 4, 4}}, {f64, {2, 4, 2}}, {f64, {2, 3, 4}}}, plain}};
}

CppCall attention_cpp(const Call& call) {
  const arithmetic::AttentionSizes s = attention_sizes(call);
  const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {"attention",
          {number(s.heads), number(s.group), number(s.queries), number(s.keys), number(s.size),
           number(s.value_size), s.ahead, std::bit_cast<std::int64_t>(s.scale)},
          // The function always takes its scratch memory, and 0 would mean none.
          std::max<std::int64_t>(1, number(s.size + s.keys))};
}

// Heads can be examples if each query head has a key head of its own.
ExampleResults attention_axis(const ExampleCall& c) {
  const Shape &q = c.shape_of(0), &k = c.shape_of(1);
  if (q.rank() < 3) return {};
  return in_leading(c, q.rank() - (q[q.rank() - 3] == k[q.rank() - 3] ? 2 : 3));
}

}  // namespace

namespace op {

constinit const Op scaled_dot_product_attention =
    complete({.name = "scaled_dot_product_attention",
              .formula = "softmax(q k^T scale + mask) v over the unmasked keys; `causal` masks key "
                         "j for query i if j > i + (S - L)",
              .shapes = "q[..., H, L, D], k[..., G, S, D], v[..., G, S, E], mask[..., H, L, S] "
                        "-> [..., H, L, E]; G divides H",
              .role = Role::kAttention,
              .min_inputs = 3,
              .max_inputs = 4,
              .attributes = kAttentionAttributes,
              .types = attention_types,
              .reference = attention_reference,
              .gradient = gradient(attention_gradient),
              .batching = batching(attention_batching),
              .example_axis = attention_axis,
              .flops = attention_flops,
              .cpp = cpp_call(attention_cpp),
              .onnx = {"Attention", 23},
              .accuracy = kSummed,
              .source = "Vaswani et al., Attention Is All You Need (2017), section 3.2.1; grouped "
                        "heads: Ainslie et al., GQA (2023)",
              .examples = attention_examples});

}  // namespace op

constexpr const Op* kAttentionOps[] = {&op::scaled_dot_product_attention};
constexpr OpList attention_ops = kAttentionOps;

arithmetic::AttentionSizes attention_sizes(const Call& call) {
  const Shape& q = call.inputs[0].shape;
  const Shape& k = call.inputs[1].shape;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const std::int64_t queries = from_end(q, 2), keys = from_end(k, 2);
  const bool causal = call.attributes.get<bool>("causal");
  return {.heads = size(Shape(leading(k, 2)).elements()),
          .group = size(q.rank() == 2 ? 1 : from_end(q, 3) / from_end(k, 3)),
          .queries = size(queries),
          .keys = size(keys),
          .size = size(q.back()),
          .value_size = size(call.inputs[2].shape.back()),
          .key_step = size(k.back()),
          .element_step = 1,
          .scale = call.attributes.get<double>("scale"),
          .ahead = causal ? keys - queries : keys};
}

Value scaled_dot_product_attention(Value q, Value k, Value v, const AttentionOptions& options) {
  const double size = q.rank() == 0 ? 1 : static_cast<double>(q.shape().back());
  const double scale = options.scale == 0 ? 1 / std::sqrt(size) : options.scale;
  std::vector<Value> in{q, k, v};
  if (options.mask)
    in.push_back(q.rank() < 2 || k.rank() < 2
                     ? options.mask
                     : broadcast(options.mask, scores_shape(q.shape(), k.shape())));
  return call(op::scaled_dot_product_attention, in,
              {{"causal", options.causal}, {"scale", scale}})[0];
}

Value attention_weights(std::span<const Value> inputs, const Attributes& attributes) {
  return reshape(parts_of(inputs, attributes).weights,
                 scores_shape(inputs[0].shape(), inputs[1].shape()));
}

Value attention_by_parts(std::span<const Value> inputs, const Attributes& attributes) {
  const AttentionParts parts = parts_of(inputs, attributes);
  const Shape q = inputs[0].shape();
  return reshape(matmul(parts.weights, inputs[2]),
                 q.replace(q.rank() - 1, inputs[2].shape().back()));
}

}  // namespace limpid
