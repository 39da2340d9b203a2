#include "limpid/ops/cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/rows.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kScaleAttribute[] = {{"scale", AttributeKind::kReal}};
constexpr std::string_view kNoGradient = "only for decoding, which is not trained";

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
std::size_t elements(std::span<const std::int64_t> dims) { return size(Shape(dims).elements()); }

bool begins_with(const Shape& shape, const Shape& first) {
  return shape.rank() >= first.rank() && std::equal(first.begin(), first.end(), shape.begin());
}

[[noreturn]] void refuse(const Call& call, std::string_view expected) {
  std::vector<std::string> came;
  for (const Type& t : call.inputs) came.push_back(to_string(t));
  throw Error(ErrorCode::kShape, fmt::format("{0}: expected {2}, got {1}", where(call),
                                             fmt::join(came, ", "), expected));
}

// ---- update_rows

std::vector<Type> update_types(const Call& call) {
  const Type& cache = call.inputs[0];
  require_dtype(call, 1, cache.dtype);
  require_dtype(call, 2, Dtype::kI32);
  const Shape& rows = call.inputs[1].shape;
  const Shape& position = call.inputs[2].shape;
  const std::int64_t axis = call.attributes.integer("axis");
  if (axis < static_cast<std::int64_t>(position.rank()) ||
      axis >= static_cast<std::int64_t>(cache.shape.rank()) || rows.rank() != cache.shape.rank() ||
      !(rows.replace(size(axis), cache.shape[size(axis)]) == cache.shape) ||
      !begins_with(cache.shape, position))
    refuse(call, fmt::format("a cache, rows of its shape except along axis {}, and a position for "
                             "each of its leading dimensions",
                             axis));
  return {cache};
}

void update_reference(const Call& call, std::span<const void* const> in,
                      std::span<void* const> out) {
  const UpdateSizes s = update_sizes(call);
  const auto* const positions = static_cast<const std::int32_t*>(in[2]);
  dispatch_size(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* const cache = static_cast<T*>(out[0]);
    std::memcpy(cache, in[0], call.inputs[0].bytes());
    for (std::size_t b = 0; b < s.sequences; ++b)
      write_rows(s.outer, s.rows, s.places, s.inner, positions[b],
                 static_cast<const T*>(in[1]) + b * s.outer * s.rows * s.inner,
                 cache + b * s.outer * s.places * s.inner);
  });
}

Values update_batching(const BatchingCall& c) {
  return {update_rows(batched_input(c, 0), batched_input(c, 1), batched_input(c, 2),
                      c.attributes.integer("axis") + 1)};
}

std::vector<Example> update_examples() {
  const Dtype f32 = Dtype::kF32, i32 = Dtype::kI32;
  const auto example = [](std::vector<Type> inputs, std::int64_t axis) {
    return Example{std::move(inputs), {{"axis", axis}}, -2, 2, 7};
  };
  return {example({{f32, {6}}, {f32, {2}}, {i32, {}}}, 0),
          example({{f32, {3, 5}}, {f32, {3, 2}}, {i32, {}}}, 1),
          example({{f32, {2, 3, 5, 4}}, {f32, {2, 3, 1, 4}}, {i32, {2}}}, 2),
          example({{Dtype::kI64, {2, 3, 5}}, {Dtype::kI64, {2, 3, 2}}, {i32, {2, 3}}}, 2)};
}

// ---- cached_attention

std::vector<Type> cached_types(const Call& call) {
  require_floating(call, 0);
  require_dtype(call, 1, call.inputs[0].dtype);
  require_dtype(call, 2, call.inputs[0].dtype);
  require_dtype(call, 3, Dtype::kI32);
  const Shape& q = call.inputs[0].shape;
  const Shape& k = call.inputs[1].shape;
  const Shape& v = call.inputs[2].shape;
  const Shape& position = call.inputs[3].shape;
  const std::size_t first = position.rank();
  const auto fits = [&] {
    if (q.rank() != first + 3 || k.rank() != first + 3 || v.rank() != first + 3) return false;
    const std::int64_t heads = q[first], kv_heads = k[first];
    return begins_with(q, position) && begins_with(k, position) && begins_with(v, position) &&
           kv_heads > 0 && heads % kv_heads == 0 && v[first] == kv_heads &&
           q[first + 2] == k[first + 1] && k[first + 2] == v[first + 1];
  };
  if (!fits())
    refuse(call,
           "q (B..., H, L, D), keys (B..., G, D, C), values (B..., G, C, E) and positions (B...), "
           "where G divides H");
  return {{call.inputs[0].dtype, q.replace(first + 2, v[first + 2])}};
}

void cached_reference(const Call& call, std::span<const void* const> in,
                      std::span<void* const> out) {
  const CachedAttentionSizes all = cached_attention_sizes(call);
  const auto* const positions = static_cast<const std::int32_t*>(in[3]);
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    arithmetic::AttentionSizes s = all.each;
    std::vector<T> scratch(s.size + s.keys);
    const std::size_t rows = s.heads * s.group * s.queries;
    for (std::size_t b = 0; b < all.sequences; ++b) {
      s.ahead = positions[b];
      arithmetic::attend(s, static_cast<const T*>(in[0]) + b * rows * s.size,
                         static_cast<const T*>(in[1]) + b * s.heads * s.keys * s.size,
                         static_cast<const T*>(in[2]) + b * s.heads * s.keys * s.value_size,
                         arithmetic::EveryKey{}, scratch.data(),
                         static_cast<T*>(out[0]) + b * rows * s.value_size);
    }
  });
}

Values cached_batching(const BatchingCall& c) {
  Values in;
  for (std::size_t i = 0; i < 4; ++i) in.push_back(batched_input(c, i));
  return call(op::cached_attention, in, c.attributes);
}

// As if all positions were visible.
std::int64_t cached_flops(const Call& call) {
  const CachedAttentionSizes all = cached_attention_sizes(call);
  const arithmetic::AttentionSizes& s = all.each;
  const auto rows = static_cast<std::int64_t>(all.sequences * s.heads * s.group * s.queries);
  const auto each = static_cast<std::int64_t>(2 * (s.size + s.value_size) + 5);
  return product_or_most(product_or_most(rows, static_cast<std::int64_t>(s.keys)), each);
}

std::vector<Example> cached_examples() {
  const Dtype f32 = Dtype::kF32, f64 = Dtype::kF64, i32 = Dtype::kI32;
  const auto example = [](std::vector<Type> inputs, std::int64_t bound) {
    return Example{std::move(inputs), {{"scale", 0.5}}, -2, 2, bound};
  };
  return {example({{f32, {2, 1, 4}}, {f32, {2, 4, 9}}, {f32, {2, 9, 4}}, {i32, {}}}, 9),
          example({{f32, {4, 3, 5}}, {f32, {2, 5, 40}}, {f32, {2, 40, 16}}, {i32, {}}}, 45),
          example({{f64, {2, 4, 2, 3}}, {f64, {2, 2, 3, 7}}, {f64, {2, 2, 7, 2}}, {i32, {2}}}, 7)};
}

CppCall update_rows_cpp(const Call& call) {
  const UpdateSizes s = update_sizes(call);
  const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {
      "update_rows",
      {number(s.sequences), number(s.outer), number(s.rows), number(s.places), number(s.inner)}};
}

CppCall cached_attention_cpp(const Call& call) {
  const auto [sequences, s] = cached_attention_sizes(call);
  const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {"cached_attention",
          {number(sequences), number(s.heads), number(s.group), number(s.queries), number(s.keys),
           number(s.size), number(s.value_size), std::bit_cast<std::int64_t>(s.scale)},
          // The function always takes its scratch memory, and 0 would mean none.
          std::max<std::int64_t>(1, number(s.size + s.keys))};
}

constexpr std::string_view kNoCache =
    "ONNX updates a cache from opset 24 on, but an older one is written";

}  // namespace

namespace op {

constinit const Op update_rows =
    complete({.name = "update_rows",
              .formula = "the cache with rows position, position + 1, ... along `axis` replaced",
              .shapes = "cache[B..., X...], rows of its shape except along axis, position[B...] -> "
                        "that of the cache",
              .min_inputs = 3,
              .max_inputs = 3,
              .attributes = kAxisAttribute,
              .types = update_types,
              .reference = update_reference,
              .gradient = no_gradient(kNoGradient),
              .batching = batching(update_batching),
              .example_axis = in_dimensions_of<2>,
              .flops = no_flops,
              .cpp = cpp_call(update_rows_cpp),
              .onnx = no_onnx(kNoCache, {"TensorScatter", 24}),
              .accuracy = kExact,
              .examples = update_examples});

constinit const Op cached_attention =
    complete({.name = "cached_attention",
              .formula = "softmax(q k^T scale) v over the keys up to position + i for query i",
              .shapes = "q[B..., H, L, D], keys[B..., G, D, C], values[B..., G, C, E], "
                        "position[B...] -> [B..., H, L, E]; G divides H",
              .role = Role::kCachedAttention,
              .min_inputs = 4,
              .max_inputs = 4,
              .attributes = kScaleAttribute,
              .types = cached_types,
              .reference = cached_reference,
              .gradient = no_gradient(kNoGradient),
              .batching = batching(cached_batching),
              .example_axis = in_dimensions_of<3>,
              .flops = cached_flops,
              .cpp = cpp_call(cached_attention_cpp),
              .onnx = no_onnx(kNoCache),
              .accuracy = kSummed,
              .source = "Vaswani et al., Attention Is All You Need (2017), section 3.2.1",
              .examples = cached_examples});

}  // namespace op

constexpr const Op* kCacheOps[] = {&op::update_rows, &op::cached_attention};
constexpr OpList cache_ops = kCacheOps;

UpdateSizes update_sizes(const Call& call) {
  const auto dims = call.inputs[0].shape.dims();
  const std::size_t first = call.inputs[2].shape.rank();
  const std::size_t axis = size(call.attributes.integer("axis"));
  return {elements(dims.first(first)), elements(dims.subspan(first, axis - first)),
          size(call.inputs[1].shape[axis]), size(dims[axis]), elements(dims.subspan(axis + 1))};
}

CachedAttentionSizes cached_attention_sizes(const Call& call) {
  const Shape& q = call.inputs[0].shape;
  const Shape& v = call.inputs[2].shape;
  const std::size_t first = call.inputs[3].shape.rank();
  const std::size_t places = size(v[first + 1]);
  return {elements(q.dims().first(first)),
          {.heads = size(v[first]),
           .group = size(q[first] / v[first]),
           .queries = size(q[first + 1]),
           .keys = places,
           .size = size(q[first + 2]),
           .value_size = size(v[first + 2]),
           .key_step = 1,
           .element_step = places,
           .scale = call.attributes.get<double>("scale"),
           .ahead = 0}};
}

Value update_rows(Value cache, Value rows, Value position, std::int64_t axis) {
  const auto from_front =
      static_cast<std::int64_t>(normalize_axis(axis, cache.rank(), op::update_rows.name));
  return call1(op::update_rows, {cache, rows, position}, {{"axis", from_front}});
}

Value cached_attention(Value q, Value keys, Value values, Value position, double scale) {
  const double size = q.rank() == 0 ? 1 : static_cast<double>(q.shape().back());
  return call1(op::cached_attention, {q, keys, values, position},
               {{"scale", scale == 0 ? 1 / std::sqrt(size) : scale}});
}

}  // namespace limpid
