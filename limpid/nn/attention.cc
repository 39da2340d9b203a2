#include "limpid/nn/attention.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/nn/detail/heads.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/shape.h"

namespace limpid::nn {
namespace {

using detail::join_heads;
using detail::split_heads;

// Sizes derived from the hyper-parameters.
struct Sizes {
  std::int64_t kv_heads, head, q, kv;  // features of a head, of all queries, of all keys
};

Sizes sizes_of(const MultiHeadAttention& a) {
  const std::int64_t kv_heads = a.kv_heads == 0 ? a.heads : a.kv_heads;
  if (a.heads < 1 || kv_heads < 1 || a.features % a.heads != 0 || a.heads % kv_heads != 0)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("attention: expected heads that divide the features and key/value heads that "
                    "divide the heads, got {} features, {} heads and {} key/value heads",
                    a.features, a.heads, kv_heads));
  const std::int64_t head = a.features / a.heads;
  return {kv_heads, head, a.features, kv_heads * head};
}

// Rows [first, last) of the projection.
Value project(const Args& params, const Value& x, std::int64_t first, std::int64_t last,
              bool bias) {
  return linear(x, slice(params.at("in_proj_weight"), 0, first, last),
                bias ? slice(params.at("in_proj_bias"), 0, first, last) : Value());
}

}  // namespace

Params MultiHeadAttention::init(Key key) const {
  const Sizes s = sizes_of(*this);
  const std::int64_t rows = s.q + 2 * s.kv;
  Params params{{"in_proj_weight", in_init(key.fold_in(0), {rows, features})}};
  if (bias) params.set("in_proj_bias", zeros()(key, {rows}));
  params.merge("out_proj", Linear{features, features, bias, out_init}.init(key.fold_in(1)));
  return params;
}

Value MultiHeadAttention::operator()(const Args& params, Value x) const {
  return attend(params, x, x, {.causal = causal});
}

Value MultiHeadAttention::attend(const Args& params, Value x, Value memory,
                                 const AttentionOptions& options) const {
  const Sizes s = sizes_of(*this);
  if (x.rank() < 2)
    throw Error(ErrorCode::kShape,
                fmt::format("attention: expected an input [..., length, {1}], got {0}",
                            to_string(x.type()), features));
  Value q, k, v;
  if (x.same_as(memory)) {
    // One product for all three.
    const Value all =
        linear(x, params.at("in_proj_weight"), bias ? params.at("in_proj_bias") : Value());
    q = slice(all, -1, 0, s.q);
    k = slice(all, -1, s.q, s.q + s.kv);
    v = slice(all, -1, s.q + s.kv, s.q + 2 * s.kv);
  } else {
    q = project(params, x, 0, s.q, bias);
    k = project(params, memory, s.q, s.q + s.kv, bias);
    v = project(params, memory, s.q + s.kv, s.q + 2 * s.kv, bias);
  }
  const Value mixed = scaled_dot_product_attention(
      split_heads(q, heads), split_heads(k, s.kv_heads), split_heads(v, s.kv_heads), options);
  return linear(join_heads(mixed), params.at("out_proj.weight"),
                bias ? params.at("out_proj.bias") : Value());
}

}  // namespace limpid::nn
