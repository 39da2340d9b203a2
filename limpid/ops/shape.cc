#include "limpid/ops/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "limpid/core/error.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/strided.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;
using List = std::vector<std::int64_t>;

constexpr AttributeSpec kPermutationAttribute[] = {{"permutation", AttributeKind::kIntegers}};

// ---- reshape

std::vector<Type> reshape_types(const Call& call) {
  const Shape shape = call.attributes.shape("shape");
  if (shape.elements() != call.inputs[0].shape.elements())
    throw Error(ErrorCode::kShape,
                fmt::format("{}: {} has {} elements, shape {} has {}", where(call),
                            to_string(call.inputs[0]), call.inputs[0].shape.elements(),
                            to_string(shape), shape.elements()));
  return {{call.inputs[0].dtype, shape}};
}

void reshape_reference(const Call& call, std::span<const void* const> in,
                       std::span<void* const> out) {
  std::memcpy(out[0], in[0], call.inputs[0].bytes());
}

Values reshape_gradient(const GradientCall& c) {
  return {reshape(c.cotangents[0], c.inputs[0].shape())};
}

Values reshape_batching(const BatchingCall& c) {
  return {reshape(c.inputs[0], c.attributes.shape("shape").insert(0, c.size))};
}

// If a call of `op` made this value: that call's input; otherwise the value itself.
Value through(const Value& v, const Op& op) {
  const Node* inner = made_by(v, op);
  return inner ? Value(&v.builder(), inner->inputs[0]) : v;
}

// Of consecutive reshapes or broadcasts only the last is needed, and none if the shape does not
// change.
template <const Op& op, Value (*write)(Value, const Shape&)>
Value simpler_shape(std::span<const Value> in, const Attributes& attributes) {
  const Shape shape = attributes.shape("shape");
  const Value x = through(in[0], op);
  return x.shape() == shape || !x.same_as(in[0]) ? write(x, shape) : Value();
}

std::vector<Example> reshape_examples() {
  return {{{{Dtype::kF32, {3, 4}}}, {{"shape", shape_attribute({2, 6})}}},
          {{{Dtype::kF64, {4}}}, {{"shape", shape_attribute({2, 1, 2})}}},
          {{{Dtype::kI32, {1, 1}}}, {{"shape", shape_attribute({})}}, -2, 2, 7}};
}

// ---- broadcast

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (std::size_t i = 1; i <= from.rank(); ++i) {
    const std::int64_t f = from[from.rank() - i];
    if (f != 1 && f != to[to.rank() - i]) return false;
  }
  return true;
}

std::vector<Type> broadcast_types(const Call& call) {
  const Shape shape = call.attributes.shape("shape");
  if (!broadcasts_to(call.inputs[0].shape, shape))
    throw Error(ErrorCode::kShape, fmt::format("{}: {} does not broadcast to {}", where(call),
                                               to_string(call.inputs[0]), to_string(shape)));
  return {{call.inputs[0].dtype, shape}};
}

// Strides of an input, in elements, along every dimension of the result.
Strides broadcast_strides(const Shape& from, const Shape& to) {
  Strides strides{};
  std::int64_t step = 1;
  for (std::size_t i = 1; i <= from.rank(); ++i) {
    const std::int64_t f = from[from.rank() - i];
    strides[to.rank() - i] = f == 1 ? 0 : step;
    step *= f;
  }
  return strides;
}

void broadcast_reference(const Call& call, std::span<const void* const> in,
                         std::span<void* const> out) {
  dispatch_size(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const Shape& to = call.outputs[0].shape;
    read_strided(static_cast<const T*>(in[0]), to, broadcast_strides(call.inputs[0].shape, to),
                 static_cast<T*>(out[0]));
  });
}

Values broadcast_gradient(const GradientCall& c) {
  const Shape& from = c.inputs[0].shape();
  const auto summed = [&](Value g) {
    // From the last dimension to the first: the order of summation is part of the result.
    for (std::size_t i = 1; i <= c.outputs[0].rank(); ++i) {
      const std::size_t axis = c.outputs[0].rank() - i;
      const bool repeated =
          i > from.rank() || (from[from.rank() - i] == 1 && c.outputs[0].shape()[axis] != 1);
      if (repeated) g = sum(g, static_cast<std::int64_t>(axis));
    }
    return g;
  };
  return {reshape(added_up(c.cotangents[0], summed), from)};
}

Values broadcast_batching(const BatchingCall& c) {
  const Shape to = c.attributes.shape("shape");
  // Dimensions of 1 after the batch dimension keep the others aligned to the right.
  Shape from = c.inputs[0].shape();
  while (from.rank() < to.rank() + 1) from = from.insert(1, 1);
  return {broadcast(reshape(c.inputs[0], from), to.insert(0, c.size))};
}

std::vector<Example> broadcast_examples() {
  return {{{{Dtype::kF32, {}}}, {{"shape", shape_attribute({3, 4})}}},
          {{{Dtype::kF32, {4}}}, {{"shape", shape_attribute({3, 4})}}},
          {{{Dtype::kF32, {3, 1}}}, {{"shape", shape_attribute({3, 4})}}},
          {{{Dtype::kF64, {2, 1, 3}}}, {{"shape", shape_attribute({5, 2, 4, 3})}}},
          {{{Dtype::kI32, {1}}}, {{"shape", shape_attribute({6})}}, -2, 2, 9},
          {{{Dtype::kBool, {2, 1}}}, {{"shape", shape_attribute({2, 5})}}}};
}

// ---- transpose

std::vector<Type> transpose_types(const Call& call) {
  const auto& permutation = call.attributes.get<std::vector<std::int64_t>>("permutation");
  const Shape& from = call.inputs[0].shape;
  std::vector<std::int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> wanted(from.rank());
  std::iota(wanted.begin(), wanted.end(), 0);
  if (sorted != wanted)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: [{}] is not a permutation of the axes of {}", where(call),
                            fmt::join(permutation, ", "), to_string(call.inputs[0])));
  std::vector<std::int64_t> dims;
  for (std::int64_t p : permutation) dims.push_back(from[static_cast<std::size_t>(p)]);
  return {{call.inputs[0].dtype, Shape(dims)}};
}

void transpose_reference(const Call& call, std::span<const void* const> in,
                         std::span<void* const> out) {
  const auto& permutation = call.attributes.get<std::vector<std::int64_t>>("permutation");
  const Strides steps = row_major_strides(call.inputs[0].shape);
  Strides strides{};
  for (std::size_t d = 0; d < permutation.size(); ++d)
    strides[d] = steps[static_cast<std::size_t>(permutation[d])];
  dispatch_size(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    read_strided(static_cast<const T*>(in[0]), call.outputs[0].shape, strides,
                 static_cast<T*>(out[0]));
  });
}

Values transpose_gradient(const GradientCall& c) {
  const auto& permutation = c.attributes.get<std::vector<std::int64_t>>("permutation");
  std::vector<std::int64_t> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return {transpose(c.cotangents[0], inverse)};
}

Values transpose_batching(const BatchingCall& c) {
  std::vector<std::int64_t> permutation{0};
  for (std::int64_t p : c.attributes.get<std::vector<std::int64_t>>("permutation"))
    permutation.push_back(p + 1);
  return {transpose(c.inputs[0], permutation)};
}

Value simpler_transpose(std::span<const Value> in, const Attributes& attributes) {
  List permutation = attributes.get<List>("permutation");
  const Node* inner = made_by(in[0], op::transpose);
  if (!inner) return std::is_sorted(permutation.begin(), permutation.end()) ? in[0] : Value();
  const Value x(&in[0].builder(), inner->inputs[0]);
  const List& first = inner->attributes.get<List>("permutation");
  for (std::int64_t& p : permutation) p = first[static_cast<std::size_t>(p)];
  return transpose(x, permutation);
}

std::vector<Example> transpose_examples() {
  return {{{{Dtype::kF32, {3, 4}}}, {{"permutation", List{1, 0}}}},
          {{{Dtype::kF32, {2, 3, 4}}}, {{"permutation", List{0, 2, 1}}}},
          {{{Dtype::kF64, {2, 3, 4}}}, {{"permutation", List{2, 0, 1}}}},
          {{{Dtype::kI64, {5}}}, {{"permutation", List{0}}}, -2, 2, 9}};
}

// ---- unbatch

ExampleResults reshape_axis(const ExampleCall& c) { return {{c.inner[0]}}; }

ExampleResults broadcast_axis(const ExampleCall& c) {
  const auto at = c.axis_of(0);
  if (!at) return {};
  const std::size_t added = c.call.outputs[0].shape.rank() - c.shape_of(0).rank();
  return one_result(c, at->axis + added, at->after);
}

ExampleResults transpose_axis(const ExampleCall& c) {
  const auto at = c.axis_of(0);
  if (!at) return {};
  const auto& permutation = c.call.attributes.get<std::vector<std::int64_t>>("permutation");
  const auto to = std::find(permutation.begin(), permutation.end(), at->axis);
  return one_result(c, static_cast<std::size_t>(to - permutation.begin()), at->after);
}

std::optional<Attributes> shape_for_one(const ExampleCall& c, std::span<const Type> results) {
  Attributes attributes = c.call.attributes;
  attributes.set("shape", shape_attribute(results[0].shape));
  return attributes;
}

}  // namespace

namespace op {

constinit const Op reshape =
    complete({.name = "reshape",
              .formula = "the same elements in another shape",
              .shapes = "[...] -> `shape`, with the same number of elements",
              .role = Role::kRearrange,
              .min_inputs = 1,
              .max_inputs = 1,
              .attributes = kShapeAttribute,
              .types = reshape_types,
              .reference = reshape_reference,
              .simplification = simpler_shape<reshape, limpid::reshape>,
              .gradient = gradient(reshape_gradient),
              .batching = batching(reshape_batching),
              .example_axis = reshape_axis,
              .example_attributes = shape_for_one,
              .flops = no_flops,
              .cpp = cpp_by_emit(),
              .onnx = {"Reshape", 21},
              .accuracy = kExact,
              .examples = reshape_examples});

constinit const Op broadcast = complete(
    {.name = "broadcast",
     .formula = "x broadcast to a larger shape",
     .shapes = "[...] -> `shape`; dimensions align from the last, and those of size 1 are repeated",
     .role = Role::kRepeat,
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kShapeAttribute,
     .types = broadcast_types,
     .reference = broadcast_reference,
     .simplification = simpler_shape<broadcast, limpid::broadcast>,
     .gradient = gradient(broadcast_gradient),
     .batching = batching(broadcast_batching),
     .example_axis = broadcast_axis,
     .example_attributes = shape_for_one,
     .flops = no_flops,
     .cpp = cpp_by_emit(),
     .onnx = {"Expand", 13},
     .accuracy = kExact,
     .examples = broadcast_examples});

constinit const Op transpose =
    complete({.name = "transpose",
              .formula = "x with its dimensions in another order",
              .shapes = "[...] -> the dimensions in the order of `permutation`",
              .role = Role::kRearrange,
              .min_inputs = 1,
              .max_inputs = 1,
              .attributes = kPermutationAttribute,
              .types = transpose_types,
              .reference = transpose_reference,
              .simplification = simpler_transpose,
              .gradient = gradient(transpose_gradient),
              .batching = batching(transpose_batching),
              .example_axis = transpose_axis,
              .flops = no_flops,
              .cpp = cpp_by_emit(),
              .onnx = {"Transpose", 21},
              .accuracy = kExact,
              .examples = transpose_examples});

}  // namespace op

constexpr const Op* kShapeOps[] = {&op::reshape, &op::broadcast, &op::transpose};
constexpr OpList shape_ops = kShapeOps;

Value reshape(Value x, const Shape& shape) {
  return x.shape() == shape ? x : call1(op::reshape, {x}, {{"shape", shape_attribute(shape)}});
}

Value broadcast(Value x, const Shape& shape) {
  return x.shape() == shape ? x : call1(op::broadcast, {x}, {{"shape", shape_attribute(shape)}});
}

Value transpose(Value x, std::vector<std::int64_t> permutation) {
  return call1(op::transpose, {x}, {{"permutation", std::move(permutation)}});
}

Shape common_shape(const Shape& a, const Shape& b, std::string_view what) {
  std::vector<std::int64_t> dims(std::max(a.rank(), b.rank()));
  for (std::size_t i = 1; i <= dims.size(); ++i) {
    const std::int64_t da = i <= a.rank() ? a[a.rank() - i] : 1;
    const std::int64_t db = i <= b.rank() ? b[b.rank() - i] : 1;
    if (da != db && da != 1 && db != 1)
      throw Error(ErrorCode::kShape, fmt::format("{}: shapes {} and {} do not broadcast together",
                                                 what, to_string(a), to_string(b)));
    dims[dims.size() - i] = da == 1 ? db : da;
  }
  return Shape(dims);
}

}  // namespace limpid
