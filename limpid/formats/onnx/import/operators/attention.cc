// Attention and the position embedding that goes with it.
#include "limpid/ops/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/rotary.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/softmax.h"

namespace limpid::onnx::detail {
namespace {

// (B, L, H D) as (B, H, L, D); four dimensions stay.
Value with_heads(const Node& node, const Value& x, std::string_view attribute) {
  if (x.rank() == 4) return x;
  const std::int64_t heads = node.integer(attribute);
  if (x.rank() != 3 || heads < 1 || x.shape()[2] % heads != 0)
    node.fail(ErrorCode::kShape,
              fmt::format("{} does not split into {} heads", to_string(x.type()), heads));
  const Shape s = x.shape();
  return transpose(reshape(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

// Repeats every head of keys or values for each of its query heads.
Value repeated_heads(const Value& x, std::int64_t heads) {
  const Shape s = x.shape();
  if (s[1] == heads) return x;
  const Shape each = s.insert(2, heads / s[1]);
  return reshape(broadcast(reshape(x, s.insert(2, 1)), each), s.replace(1, heads));
}

// Combines both kinds of mask: to a boolean one if no numbers are added.
Value joined_masks(const Value& mask, const Value& more) {
  if (!mask) return more;
  if (!more) return mask;
  if (mask.dtype() == Dtype::kBool && more.dtype() == Dtype::kBool) return logical_and(mask, more);
  const Value& numbers = mask.dtype() == Dtype::kBool ? more : mask;
  const Value& seen = mask.dtype() == Dtype::kBool ? mask : more;
  const Shape shape = common_shape(numbers.shape(), seen.shape(), "masks");
  return select(broadcast(seen, shape), broadcast(numbers, shape),
                broadcast(scalar_like(numbers, -INFINITY), shape));
}

struct Heads {
  Value q, k, v;  // (B, H, L, D), (B, G, S, D), (B, G, S, E)
  std::int64_t past;

  std::int64_t queries() const { return q.shape()[2]; }
  std::int64_t keys() const { return k.shape()[2]; }
};

// Keys beyond the end of a mask are masked.
Value mask_of_all_keys(const Value& mask, std::int64_t keys) {
  const std::int64_t missing = mask.rank() == 0 ? 0 : keys - mask.shape().back();
  if (missing <= 0 || mask.shape().back() == 1) return mask;
  const double hidden = mask.dtype() == Dtype::kBool ? 0 : -INFINITY;
  const Shape rest = mask.shape().replace(mask.rank() - 1, missing);
  const Dtype drawn = mask.dtype() == Dtype::kBool ? Dtype::kI32 : mask.dtype();
  return concatenate(
      {mask, cast(broadcast(constant(mask.builder(), hidden, drawn), rest), mask.dtype())}, -1);
}

// The number of valid keys of each example: (B, 1, 1, 1), or no value if all are valid.
Value counts_of_keys(const Node& node) {
  const Value counts = node.optional_input(6);
  if (!counts) return {};
  return reshape(cast(counts, Dtype::kI32), {counts.shape().elements(), 1, 1, 1});
}

// The last key that each query sees, where the order counts: those of the past come before, and of
// a cache that is filled in part the last query's is the last one that counts.
Value last_keys(const Heads& h, const Value& counts) {
  const Value places = reshape(iota(h.q.builder(), h.queries()), {h.queries(), 1});
  if (h.past == 0 && counts) return places + (counts - static_cast<double>(h.queries()));
  return places + static_cast<double>(h.past);
}

Value mask_of(const Node& node, const Heads& h, const Value& counts, bool causal) {
  Value mask = node.optional_input(3);
  if (mask) {
    mask = mask_of_all_keys(mask, h.keys());
    if (mask.dtype() != Dtype::kBool) mask = cast(mask, h.q.dtype());
  }
  const Value keys = iota(node.builder(), h.keys());
  if (causal) mask = joined_masks(mask, last_keys(h, counts) >= keys);
  if (counts) mask = joined_masks(mask, counts > keys);
  return mask;
}

// The dtype of the softmax. Where 16 bits are asked for, which Limpid only stores, it is that of
// the queries.
Dtype softmax_dtype(const Node& node, const Heads& h) {
  const Dtype asked = node.dtype("softmax_precision", h.q.dtype());
  return asked == Dtype::kF32 || asked == Dtype::kF64 ? asked : h.q.dtype();
}

// Written out, for what scaled_dot_product_attention does not have: softcap, a softmax of another
// dtype, and the scores as an output.
Values attention_written_out(const Node& node, const Heads& h, double scale, const Value& mask) {
  const std::int64_t heads = h.q.shape()[1];
  std::vector<Value> stages{
      matmul(h.q * scale, repeated_heads(h.k, heads), false, true)};  // scores as they are,
  const double softcap = node.real("softcap", 0);
  const Value scores = stages.back();
  stages.push_back(softcap > 0 ? tanh(scores / softcap) * softcap : scores);  // bounded,
  const Value bounded = stages.back();
  if (!mask)
    stages.push_back(bounded);
  else if (mask.dtype() == Dtype::kBool)
    stages.push_back(
        select(broadcast(mask, bounded.shape()), bounded, number_like(bounded, -INFINITY)));
  else
    stages.push_back(bounded + mask);  // masked,
  const Value masked = cast(stages.back(), softmax_dtype(node, h));
  stages.push_back(cast(softmax(masked), h.q.dtype()));  // and as weights
  const std::int64_t wanted = node.integer("qk_matmul_output_mode", 0);
  if (wanted < 0 || wanted > 3)
    node.fail(ErrorCode::kFormat, fmt::format("unknown qk_matmul_output_mode {}", wanted));
  return {matmul(stages.back(), repeated_heads(h.v, heads)),
          stages[static_cast<std::size_t>(wanted)]};
}

Value with_past(const Node& node, std::size_t past, const Value& x) {
  return node.has_input(past) ? concatenate({node.input(past), x}, 2) : x;
}

Values import_attention(Node& node) {
  const Value query = node.input(0);
  Heads h{with_heads(node, query, "q_num_heads"), with_heads(node, node.input(1), "kv_num_heads"),
          with_heads(node, node.input(2), "kv_num_heads"), 0};
  h.past = node.has_input(4) ? node.input(4).shape()[2] : 0;
  h.k = with_past(node, 4, h.k);
  h.v = with_past(node, 5, h.v);
  const std::int64_t heads = h.k.shape()[1];
  if (heads < 1 || h.v.shape()[1] != heads || h.q.shape()[1] % heads != 0)
    node.fail(ErrorCode::kShape,
              fmt::format("{} query heads do not fit {} key heads and {} value heads",
                          h.q.shape()[1], heads, h.v.shape()[1]));
  const double size = static_cast<double>(h.q.shape()[3]);
  const double scale = node.has("scale") ? node.real("scale") : 1 / std::sqrt(size);
  const bool causal = node.flag("is_causal", false);
  const Value counts = counts_of_keys(node);
  const bool scores_wanted = node.wants_output(3);
  const bool other_softmax = softmax_dtype(node, h) != h.q.dtype();
  Values parts{{}, {}};
  if (scores_wanted || other_softmax || node.real("softcap", 0) > 0 || scale == 0) {
    parts = attention_written_out(node, h, scale, mask_of(node, h, counts, causal));
  } else {
    const bool aligned = h.keys() - h.queries() == h.past && !counts;
    const Value mask = mask_of(node, h, counts, causal && !aligned);
    parts[0] = scaled_dot_product_attention(
        h.q, h.k, h.v, {.causal = causal && aligned, .scale = scale, .mask = mask});
  }
  if (query.rank() == 3) {
    const Shape y = parts[0].shape();
    parts[0] = reshape(transpose(parts[0], {0, 2, 1, 3}), {y[0], y[2], y[1] * y[3]});
  }
  Values outputs{parts[0], h.k, h.v};
  if (scores_wanted) outputs.push_back(parts[1]);
  return outputs;
}

// Angles come for every place, (B, L, R / 2), or as a table of places that the numbers choose from.
Values import_rotary_embedding(Node& node) {
  const Value x = node.input(0);
  const bool flat = x.rank() == 3;
  Value rows = x;
  if (flat) {
    const std::int64_t heads = node.integer("num_heads");
    const Shape s = x.shape();
    if (heads < 1 || s[2] % heads != 0)
      node.fail(ErrorCode::kShape,
                fmt::format("{} does not split into {} heads", to_string(x.type()), heads));
    rows = reshape(x, {s[0], s[1], heads, s[2] / heads});
  }
  const std::int64_t turned = node.integer("rotary_embedding_dim", 0);
  const auto angles = [&](std::size_t i) {
    Value table = node.input(i);
    if (node.has_input(3)) table = gather(table, node.input(3));
    if (table.rank() != 3)
      node.fail(ErrorCode::kShape,
                fmt::format("expected angles for every position, got {}", to_string(table.type())));
    if (turned > 0 && turned / 2 < table.shape()[2]) table = slice(table, 2, 0, turned / 2);
    return reshape(table, table.shape().insert(flat ? 2 : 1, 1));
  };
  const Value y = rotary_embedding(rows, angles(1), angles(2), node.flag("interleaved", false));
  return {reshape(y, x.shape())};
}

constexpr NodeOp kAttentionOperators[] = {
    {.name = "Attention",
     .since = 23,
     .meaning = "scaled_dot_product_attention; its parts if softcap, the scores or a softmax of "
                "another dtype are used",
     .import = import_attention},
    {.name = "RotaryEmbedding",
     .since = 23,
     .meaning = "rotary_embedding",
     .import = import_rotary_embedding},
};

}  // namespace

constexpr std::span<const NodeOp> attention_operators = kAttentionOperators;

}  // namespace limpid::onnx::detail
