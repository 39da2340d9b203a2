#include "limpid/ops/indexing.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/rows.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/strided.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;
using List = std::vector<std::int64_t>;

constexpr AttributeSpec kSliceAttributes[] = {{"limits", AttributeKind::kIntegers},
                                              {"starts", AttributeKind::kIntegers},
                                              {"strides", AttributeKind::kIntegers}};
constexpr AttributeSpec kPadAttributes[] = {{"high", AttributeKind::kIntegers},
                                            {"interior", AttributeKind::kIntegers},
                                            {"low", AttributeKind::kIntegers},
                                            {"value", AttributeKind::kReal}};
constexpr AttributeSpec kScatterAttributes[] = {{"batch", AttributeKind::kInteger},
                                                {"size", AttributeKind::kInteger}};

const List& list(const Attributes& attributes, std::string_view name) {
  return attributes.get<List>(name);
}

// A list of one number for every dimension of input 0.
const List& list_of_rank(const Call& call, std::string_view name) {
  const List& values = list(call.attributes, name);
  if (values.size() != call.inputs[0].shape.rank())
    throw Error(ErrorCode::kShape,
                fmt::format("{}: {} has {} numbers, {} has rank {}", where(call), name,
                            values.size(), to_string(call.inputs[0]), call.inputs[0].shape.rank()));
  return values;
}

List with_front(std::int64_t first, const List& rest) {
  List result{first};
  result.insert(result.end(), rest.begin(), rest.end());
  return result;
}

// ---- slice

std::vector<Type> slice_types(const Call& call) {
  const List& starts = list_of_rank(call, "starts");
  const List& limits = list_of_rank(call, "limits");
  const List& strides = list_of_rank(call, "strides");
  const Shape& x = call.inputs[0].shape;
  List dims;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (starts[d] < 0 || starts[d] > limits[d] || limits[d] > x[d] || strides[d] < 1)
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: dimension {}: start {}, limit {}, stride {} of {}; expected 0 "
                              "<= start <= limit <= {} and a stride of 1 or more",
                              where(call), d, starts[d], limits[d], strides[d],
                              to_string(call.inputs[0]), x[d]));
    const std::int64_t span = limits[d] - starts[d];
    dims.push_back(span / strides[d] + (span % strides[d] != 0));
  }
  return {{call.inputs[0].dtype, Shape(dims)}};
}

void slice_reference(const Call& call, std::span<const void* const> in,
                     std::span<void* const> out) {
  const List& starts = list(call.attributes, "starts");
  const List& by = list(call.attributes, "strides");
  Strides strides = row_major_strides(call.inputs[0].shape);
  std::int64_t first = 0;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    first += starts[d] * strides[d];
    strides[d] *= std::min(by[d], std::max<std::int64_t>(1, call.inputs[0].shape[d]));
  }
  dispatch_size(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    read_strided(static_cast<const T*>(in[0]) + first, call.outputs[0].shape, strides,
                 static_cast<T*>(out[0]));
  });
}

// Zeros around and between.
Values slice_gradient(const GradientCall& c) {
  const Shape x = c.inputs[0].shape();
  const Shape y = c.outputs[0].shape();
  List low = list(c.attributes, "starts");
  List high;
  List interior;
  for (std::size_t d = 0; d < low.size(); ++d) {
    interior.push_back(list(c.attributes, "strides")[d] - 1);
    if (y[d] == 0) low[d] = 0;
    high.push_back(x[d] - low[d] - (y[d] == 0 ? 0 : (y[d] - 1) * (interior[d] + 1) + 1));
  }
  return {added_up(c.cotangents[0], [&](Value g) { return pad(g, low, high, interior); })};
}

Values slice_batching(const BatchingCall& c) {
  return {slice(c.inputs[0], with_front(0, list(c.attributes, "starts")),
                with_front(c.size, list(c.attributes, "limits")),
                with_front(1, list(c.attributes, "strides")))};
}

Attributes slice_attributes(List starts, List limits, List strides) {
  return {{"limits", std::move(limits)},
          {"starts", std::move(starts)},
          {"strides", std::move(strides)}};
}

std::vector<Example> slice_examples() {
  return {{{{Dtype::kF32, {9}}}, slice_attributes({2}, {7}, {1})},
          {{{Dtype::kF64, {9}}}, slice_attributes({1}, {9}, {3})},
          {{{Dtype::kF32, {4, 7}}}, slice_attributes({1, 0}, {3, 7}, {1, 2})},
          {{{Dtype::kF64, {3, 4, 5}}}, slice_attributes({0, 3, 1}, {3, 4, 5}, {2, 1, 1})},
          {{{Dtype::kF64, {5, 2}}}, slice_attributes({4, 0}, {4, 2}, {1, 1})},
          {{{Dtype::kI64, {6}}}, slice_attributes({0}, {6}, {5}), -2, 2, 9},
          {{{Dtype::kF32, {}}}, slice_attributes({}, {}, {})}};
}

// ---- pad

std::vector<Type> pad_types(const Call& call) {
  const List& low = list_of_rank(call, "low");
  const List& high = list_of_rank(call, "high");
  const List& interior = list_of_rank(call, "interior");
  const Shape& x = call.inputs[0].shape;
  List dims;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (low[d] < 0 || high[d] < 0 || interior[d] < 0)
      throw Error(
          ErrorCode::kShape,
          fmt::format(
              "{}: dimension {}: expected no negative padding, got {} before, {} after, {} between",
              where(call), d, low[d], high[d], interior[d]));
    std::int64_t between = 0;
    std::int64_t size = 0;
    if (__builtin_mul_overflow(interior[d], x[d] > 0 ? x[d] - 1 : 0, &between) ||
        __builtin_add_overflow(low[d], high[d], &size) ||
        __builtin_add_overflow(size, between, &size) || __builtin_add_overflow(size, x[d], &size))
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: dimension {} grows beyond 2^63", where(call), d));
    dims.push_back(size);
  }
  return {{call.inputs[0].dtype, Shape(dims)}};
}

void pad_reference(const Call& call, std::span<const void* const> in, std::span<void* const> out) {
  const List& low = list(call.attributes, "low");
  const List& interior = list(call.attributes, "interior");
  const double value = call.attributes.get<double>("value");
  const Type& y = call.outputs[0];
  Strides strides = row_major_strides(y.shape);
  std::int64_t first = 0;
  for (std::size_t d = 0; d < low.size(); ++d) {
    first += low[d] * strides[d];
    if (call.inputs[0].shape[d] > 1) strides[d] *= interior[d] + 1;
  }
  dispatch_numeric(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(static_cast<T*>(out[0]), y.shape.elements(), static_cast<T>(value));
    write_strided(static_cast<const T*>(in[0]), call.inputs[0].shape, strides,
                  static_cast<T*>(out[0]) + first);
  });
}

std::vector<Type> numeric_pad_types(const Call& call) {
  require_numeric(call, 0);
  const double value = call.attributes.get<double>("value");
  const Dtype d = call.inputs[0].dtype;
  const bool whole = value >= -0x1p31 && value < 0x1p31 &&
                     value == static_cast<double>(static_cast<std::int32_t>(value));
  if (!is_floating(d) && !whole)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} is padded with {}, expected a 32-bit integer", where(call),
                            to_string(call.inputs[0]), value));
  return pad_types(call);
}

Values pad_gradient(const GradientCall& c) {
  const List& low = list(c.attributes, "low");
  List limits;
  List strides;
  for (std::size_t d = 0; d < low.size(); ++d) {
    const std::int64_t size = c.inputs[0].shape()[d];
    // Fewer than two elements have nothing between them, whatever the interior padding.
    strides.push_back(size < 2 ? 1 : list(c.attributes, "interior")[d] + 1);
    limits.push_back(low[d] + (size == 0 ? 0 : (size - 1) * strides[d] + 1));
  }
  return {slice(c.cotangents[0], low, limits, strides)};
}

Values pad_batching(const BatchingCall& c) {
  return {pad(c.inputs[0], with_front(0, list(c.attributes, "low")),
              with_front(0, list(c.attributes, "high")),
              with_front(0, list(c.attributes, "interior")), c.attributes.get<double>("value"))};
}

Attributes pad_attributes(List low, List high, List interior, double value) {
  return {{"high", std::move(high)},
          {"interior", std::move(interior)},
          {"low", std::move(low)},
          {"value", value}};
}

std::vector<Example> pad_examples() {
  return {{{{Dtype::kF32, {5}}}, pad_attributes({1}, {2}, {0}, 0.5)},
          {{{Dtype::kF64, {4}}}, pad_attributes({0}, {0}, {2}, 0)},
          {{{Dtype::kF32, {2, 3}}}, pad_attributes({0, 1}, {2, 0}, {1, 0}, -1)},
          {{{Dtype::kF64, {2, 3}}}, pad_attributes({1, 0}, {0, 3}, {0, 1}, 0)},
          {{{Dtype::kF64, {0}}}, pad_attributes({2}, {1}, {3}, 0)},
          {{{Dtype::kI32, {3}}}, pad_attributes({1}, {1}, {0}, 7), -2, 2, 9},
          {{{Dtype::kF32, {}}}, pad_attributes({}, {}, {}, 0)}};
}

// ---- concatenate

std::vector<Type> concatenate_types(const Call& call) {
  const Type& first = call.inputs[0];
  const std::int64_t axis = call.attributes.integer("axis");
  if (axis < 0 || axis >= static_cast<std::int64_t>(first.shape.rank()))
    throw Error(ErrorCode::kShape,
                fmt::format("{}: axis {} is outside of {}", where(call), axis, to_string(first)));
  const auto a = static_cast<std::size_t>(axis);
  std::int64_t size = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Type& part = call.inputs[i];
    const bool fits = part.dtype == first.dtype && part.shape.rank() == first.shape.rank() &&
                      part.shape.erase(a) == first.shape.erase(a);
    if (!fits)
      throw Error(
          part.dtype == first.dtype ? ErrorCode::kShape : ErrorCode::kDtype,
          fmt::format("{}: input {} is {}, input 0 is {}; they may differ in dimension {} only",
                      where(call), i, to_string(part), to_string(first), axis));
    if (__builtin_add_overflow(size, part.shape[a], &size))
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: dimension {} grows beyond 2^63", where(call), axis));
  }
  return {{first.dtype, first.shape.replace(a, size)}};
}

void concatenate_reference(const Call& call, std::span<const void* const> in,
                           std::span<void* const> out) {
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  const Type& whole = call.outputs[0];
  if (whole.shape.elements() == 0) return;
  std::size_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= static_cast<std::size_t>(whole.shape[d]);
  auto* to = static_cast<std::byte*>(out[0]);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t bytes = call.inputs[i].bytes() / outer;
      if (bytes > 0) std::memcpy(to, static_cast<const std::byte*>(in[i]) + o * bytes, bytes);
      to += bytes;
    }
}

Values concatenate_gradient(const GradientCall& c) {
  const std::int64_t axis = c.attributes.integer("axis");
  Values result;
  std::int64_t start = 0;
  for (const Value& part : c.inputs) {
    const std::int64_t size = part.shape()[static_cast<std::size_t>(axis)];
    result.push_back(slice(c.cotangents[0], axis, start, start + size));
    start += size;
  }
  return result;
}

Values concatenate_batching(const BatchingCall& c) {
  Values parts;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) parts.push_back(batched_input(c, i));
  return {concatenate(parts, c.attributes.integer("axis") + 1)};
}

Value only_part(std::span<const Value> in, const Attributes&) {
  return in.size() == 1 ? in[0] : Value();
}

std::vector<Example> concatenate_examples() {
  const Attributes first{{"axis", std::int64_t{0}}};
  const Attributes second{{"axis", std::int64_t{1}}};
  return {{{{Dtype::kF32, {3}}, {Dtype::kF32, {5}}}, first},
          {{{Dtype::kF64, {2, 3}}, {Dtype::kF64, {1, 3}}, {Dtype::kF64, {0, 3}}}, first},
          {{{Dtype::kF32, {2, 3}}, {Dtype::kF32, {2, 1}}}, second},
          {{{Dtype::kF64, {2, 1, 2}}, {Dtype::kF64, {2, 2, 2}}}, second},
          {{{Dtype::kBool, {2}}, {Dtype::kBool, {1}}}, first},
          {{{Dtype::kF32, {4}}}, first}};
}

// ---- gather

std::vector<Type> gather_types(const Call& call) {
  require_index(call, 1);
  const std::size_t batch = batch_of(call);
  const Shape& x = call.inputs[0].shape;
  if (x.rank() == batch)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: {} has no rows", where(call), to_string(call.inputs[0])));
  return {{call.inputs[0].dtype,
           joined(call, {call.inputs[1].shape.dims(), x.dims().subspan(batch + 1)})}};
}

void gather_reference(const Call& call, std::span<const void* const> in,
                      std::span<void* const> out) {
  const Rows r = rows_of(call.inputs[1].shape, call.inputs[0].shape, batch_of(call));
  const std::size_t bytes = r.width * size_of(call.inputs[0].dtype);
  if (bytes == 0) return;
  for_each_row(call.inputs[1], in[1], r, [&](std::size_t i, std::int64_t row) {
    std::byte* to = static_cast<std::byte*>(out[0]) + i * bytes;
    if (row < 0)
      std::memset(to, 0, bytes);
    else
      std::memcpy(to, static_cast<const std::byte*>(in[0]) + static_cast<std::size_t>(row) * bytes,
                  bytes);
  });
}

Values gather_gradient(const GradientCall& c) {
  const std::int64_t batch = c.attributes.integer("batch");
  const std::int64_t rows = c.inputs[0].shape()[static_cast<std::size_t>(batch)];
  const auto of_rows = [&](Value g) { return scatter_add(c.inputs[1], g, rows, batch); };
  return {added_up(c.cotangents[0], of_rows), Value()};
}

// If only the indices are batched, all of them choose from the same rows.
Values gather_batching(const BatchingCall& c) {
  const std::int64_t batch = c.attributes.integer("batch");
  if (batch == 0 && !c.batched[0]) return {gather(c.inputs[0], c.inputs[1], 0)};
  return {gather(batched_input(c, 0), batched_input(c, 1), batch + 1)};
}

std::vector<Example> gather_examples() {
  return {
      {{{Dtype::kF32, {5, 3}}, {Dtype::kI32, {7}}}, batch_attribute(0), -2, 2, 6},
      {{{Dtype::kF64, {4, 3}}, {Dtype::kI64, {2, 3}}}, batch_attribute(0), -2, 2, 4},
      {{{Dtype::kF64, {6}}, {Dtype::kI32, {}}}, batch_attribute(0), -2, 2, 6},
      {{{Dtype::kF64, {3, 4, 2}}, {Dtype::kI32, {3, 5}}}, batch_attribute(1), -2, 2, 5},
      {{{Dtype::kBool, {4}}, {Dtype::kI32, {3}}}, batch_attribute(0), -2, 2, 4},
  };
}

// ---- take

Values take_body(std::span<const Value> in, const Attributes& attributes) {
  const std::int64_t batch = attributes.integer("batch");
  const std::int64_t rows = in[0].shape()[static_cast<std::size_t>(batch)];
  const Value numbers = from_either_end(in[1], rows);
  const Value y = gather(in[0], numbers, batch);
  if (!is_floating(y.dtype())) return {y};
  const Value is_row = logical_and(numbers >= number_like(numbers, 0),
                                   numbers < number_like(numbers, static_cast<double>(rows)));
  Shape column = is_row.shape();
  while (column.rank() < y.rank()) column = column.insert(column.rank(), 1);
  const Value nan = constant(y.builder(), std::numeric_limits<double>::quiet_NaN(), Dtype::kF32);
  return {select(broadcast(reshape(is_row, column), y.shape()), y,
                 broadcast(cast(nan, y.dtype()), y.shape()))};
}

Values take_gradient(const GradientCall& c) {
  const std::int64_t batch = c.attributes.integer("batch");
  const std::int64_t rows = c.inputs[0].shape()[static_cast<std::size_t>(batch)];
  const Value numbers = from_either_end(c.inputs[1], rows);
  const auto of_rows = [&](Value g) { return scatter_add(numbers, g, rows, batch); };
  return {added_up(c.cotangents[0], of_rows), Value()};
}

Values take_batching(const BatchingCall& c) {
  const std::int64_t batch = c.attributes.integer("batch");
  if (batch == 0 && !c.batched[0]) return {take_rows(c.inputs[0], c.inputs[1], 0)};
  return {take_rows(batched_input(c, 0), batched_input(c, 1), batch + 1)};
}

// Indices are drawn from 0 on, so the last of each are outside.
std::vector<Example> take_examples() {
  return {
      {{{Dtype::kF32, {5, 3}}, {Dtype::kI32, {7}}}, batch_attribute(0), -2, 2, 6},
      {{{Dtype::kF64, {4, 3}}, {Dtype::kI64, {2, 3}}}, batch_attribute(0), -2, 2, 4},
      {{{Dtype::kF64, {6}}, {Dtype::kI32, {}}}, batch_attribute(0), -2, 2, 6},
      {{{Dtype::kF64, {3, 4, 2}}, {Dtype::kI32, {3, 5}}}, batch_attribute(1), -2, 2, 4},
      {{{Dtype::kI32, {4}}, {Dtype::kI32, {9}}}, batch_attribute(0), -2, 2, 9},
  };
}

// ---- scatter_add

std::vector<Type> scatter_add_types(const Call& call) {
  require_index(call, 0);
  require_numeric(call, 1);
  const std::size_t batch = batch_of(call);
  const Shape& indices = call.inputs[0].shape;
  const Shape& updates = call.inputs[1].shape;
  const std::int64_t size = call.attributes.integer("size");
  if (size < 0 || updates.rank() < indices.rank() ||
      !std::equal(indices.begin(), indices.end(), updates.begin()))
    throw Error(
        ErrorCode::kShape,
        fmt::format("{}: indices are {}, updates {}, size {}; expected a row of updates for every "
                    "index and a size of 0 or more",
                    where(call), to_string(call.inputs[0]), to_string(call.inputs[1]), size));
  const std::int64_t one[] = {size};
  return {{call.inputs[1].dtype, joined(call, {indices.dims().first(batch), one,
                                               updates.dims().subspan(indices.rank())})}};
}

template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

void scatter_add_reference(const Call& call, std::span<const void* const> in,
                           std::span<void* const> out) {
  const Rows r = rows_of(call.inputs[0].shape, call.outputs[0].shape, batch_of(call));
  dispatch_numeric(call.inputs[1].dtype, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(static_cast<T*>(out[0]), call.outputs[0].shape.elements(), zero);
    for_each_row(call.inputs[0], in[0], r, [&](std::size_t i, std::int64_t row) {
      if (row < 0) return;
      const T* from = static_cast<const T*>(in[1]) + i * r.width;
      T* to = static_cast<T*>(out[0]) + static_cast<std::size_t>(row) * r.width;
      for (std::size_t k = 0; k < r.width; ++k) to[k] = wrapping_add(to[k], from[k]);
    });
  });
}

Values scatter_add_gradient(const GradientCall& c) {
  return {Value(), gather(c.cotangents[0], c.inputs[0], c.attributes.integer("batch"))};
}

Values scatter_add_batching(const BatchingCall& c) {
  return {scatter_add(batched_input(c, 0), batched_input(c, 1), c.attributes.integer("size"),
                      c.attributes.integer("batch") + 1)};
}

Attributes scatter_attributes(std::int64_t size, std::int64_t batch) {
  return {{"batch", batch}, {"size", size}};
}

std::vector<Example> scatter_add_examples() {
  return {
      {{{Dtype::kI32, {9}}, {Dtype::kF32, {9, 3}}}, scatter_attributes(4, 0), -2, 2, 5},
      {{{Dtype::kI64, {2, 3}}, {Dtype::kF64, {2, 3}}}, scatter_attributes(3, 0), -2, 2, 3},
      {{{Dtype::kI32, {2, 4}}, {Dtype::kF64, {2, 4, 2}}}, scatter_attributes(3, 1), -2, 2, 4},
      {{{Dtype::kI32, {}}, {Dtype::kF64, {2}}}, scatter_attributes(2, 0), -2, 2, 2},
      {{{Dtype::kI32, {4}}, {Dtype::kI64, {4}}}, scatter_attributes(2, 0), -2, 2, 2},
  };
}

std::int64_t scatter_add_flops(const Call& call) { return call.inputs[1].shape.elements(); }

// The largest number of operands of a call.
constexpr int kMostParts = 64;

CppCall gather_cpp(const Call& call) {
  return rows_cpp(call, "gather", call.inputs[1].shape, call.inputs[0].shape);
}
CppCall scatter_add_cpp(const Call& call) {
  return rows_cpp(call, "scatter_add", call.inputs[0].shape, call.outputs[0].shape);
}

// ---- unbatch

// All examples are kept, at their indices.
ExampleResults slice_axis(const ExampleCall& c) {
  const auto at = c.axis_of(0);
  if (!at) return {};
  const auto number = [&](std::string_view name) {
    return c.call.attributes.get<std::vector<std::int64_t>>(name)[at->axis];
  };
  const bool all = number("starts") == 0 && number("strides") == 1 &&
                   number("limits") == c.shape_of(0)[at->axis];
  return all ? one_result(c, at->axis, at->after) : ExampleResults();
}

std::optional<Attributes> limits_for_one(const ExampleCall& c, std::span<const Type>) {
  Attributes attributes = c.call.attributes;
  if (!c.inner[0]) return attributes;
  auto limits = attributes.get<std::vector<std::int64_t>>("limits");
  limits[c.axis_of(0)->axis] /= c.size;
  attributes.set("limits", limits);
  return attributes;
}

ExampleResults pad_axis(const ExampleCall& c) {
  const auto at = c.axis_of(0);
  if (!at) return {};
  for (const std::string_view name : {"low", "high", "interior"})
    if (c.call.attributes.get<std::vector<std::int64_t>>(name)[at->axis] != 0) return {};
  return one_result(c, at->axis, at->after);
}

ExampleResults concatenate_axis(const ExampleCall& c) {
  const auto at = c.axis_of(c.first());
  const auto axis = static_cast<std::size_t>(c.call.attributes.integer("axis"));
  if (!at || at->axis == axis || !all_hold(c, *at)) return {};
  return one_result(c, at->axis, at->after);
}

// Besides the common leading dimensions: each example has its own indices into one table, or its
// part of each row.
ExampleResults gather_axis(const ExampleCall& c) {
  const auto batch = static_cast<std::size_t>(c.call.attributes.integer("batch"));
  if (ExampleResults r = in_leading(c, batch)) return r;
  if (c.inner[0] && c.inner[1]) return {};
  const std::size_t operand = c.inner[0] ? 0 : 1;
  const auto at = c.axis_of(operand);
  if (!at || at->axis < batch) return {};
  if (operand == 1) return one_result(c, at->axis, at->after);
  if (at->axis == batch) return {};
  return one_result(c, c.shape_of(1).rank() + at->axis - batch - 1, at->after);
}

}  // namespace

namespace op {

constinit const Op slice =
    complete({.name = "slice",
              .formula = "every `strides`-th element from `starts` to `limits`",
              .shapes = "[...] -> [...], with the selected elements",
              .role = Role::kMove,
              .min_inputs = 1,
              .max_inputs = 1,
              .attributes = kSliceAttributes,
              .types = slice_types,
              .reference = slice_reference,
              .simplification = unless_reshaped<slice>,
              .gradient = gradient(slice_gradient),
              .batching = batching(slice_batching),
              .example_axis = slice_axis,
              .example_attributes = limits_for_one,
              .flops = no_flops,
              .cpp = cpp_by_emit(),
              .onnx = {"Slice", 13},
              .accuracy = kExact,
              .examples = slice_examples});

constinit const Op pad =
    complete({.name = "pad",
              .formula = "`value` before, between and after the elements",
              .shapes = "[...] -> [low + size + interior (size - 1) + high, ...]",
              .role = Role::kMove,
              .min_inputs = 1,
              .max_inputs = 1,
              .attributes = kPadAttributes,
              .types = numeric_pad_types,
              .reference = pad_reference,
              .simplification = unless_reshaped<pad>,
              .gradient = gradient(pad_gradient),
              .batching = batching(pad_batching),
              .example_axis = pad_axis,
              .flops = no_flops,
              .cpp = cpp_by_emit(),
              .onnx = {"Pad", 21},
              .accuracy = kExact,
              .examples = pad_examples});

constinit const Op concatenate =
    complete({.name = "concatenate",
              .formula = "concatenated along an axis",
              .shapes = "[..., a, ...], [..., b, ...] -> [..., a + b, ...]",
              .role = Role::kMove,
              .min_inputs = 1,
              .max_inputs = kMostParts,
              .attributes = kAxisAttribute,
              .types = concatenate_types,
              .reference = concatenate_reference,
              .simplification = only_part,
              .gradient = gradient(concatenate_gradient),
              .batching = batching(concatenate_batching),
              .example_axis = concatenate_axis,
              .flops = no_flops,
              .cpp = cpp_by_emit(),
              .onnx = {"Concat", 13},
              .accuracy = kExact,
              .examples = concatenate_examples});

constinit const Op gather =
    complete({.name = "gather",
              .formula = "rows of x by index; zeros for an index out of range",
              .shapes = "x[`batch`, n, ...], indices[`batch`, i...] -> "
                        "[`batch`, i..., ...]",
              .min_inputs = 2,
              .max_inputs = 2,
              .attributes = kBatchAttribute,
              .types = gather_types,
              .reference = gather_reference,
              .gradient = gradient(gather_gradient),
              .batching = batching(gather_batching),
              .example_axis = gather_axis,
              .flops = no_flops,
              .cpp = cpp_call(gather_cpp),
              .onnx = {"Gather", 13},
              .accuracy = kExact,
              .examples = gather_examples});

constinit const Op take = complete(
    {.name = "take",
     .formula = "rows of x by index, negative ones from the end; NaN (of integers 0) for an "
                "index out of range",
     .shapes = "x[`batch`, n, ...], indices[`batch`, i...] -> "
               "[`batch`, i..., ...]",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kBatchAttribute,
     .types = gather_types,
     .body = take_body,
     .gradient = gradient(take_gradient),
     .batching = batching(take_batching),
     .example_axis = gather_axis,
     .flops = no_flops,
     .onnx = {"Gather", 13},
     .examples = take_examples});

constinit const Op scatter_add =
    complete({.name = "scatter_add",
              .formula = "zeros, with row i added at indices[i]",
              .shapes = "indices[`batch`, i...], updates[`batch`, i..., "
                        "...] -> [`batch`, size, ...]",
              .min_inputs = 2,
              .max_inputs = 2,
              .attributes = kScatterAttributes,
              .types = scatter_add_types,
              .reference = scatter_add_reference,
              .gradient = gradient(scatter_add_gradient),
              .batching = batching(scatter_add_batching),
              .example_axis = in_batch_dimensions,
              .flops = scatter_add_flops,
              .cpp = cpp_call(scatter_add_cpp),
              .onnx = {},
              .accuracy = kSummed,
              .examples = scatter_add_examples});

}  // namespace op

constexpr const Op* kIndexingOps[] = {&op::slice,  &op::pad,  &op::concatenate,
                                      &op::gather, &op::take, &op::scatter_add};
constexpr OpList indexing_ops = kIndexingOps;

Value slice(Value x, List starts, List limits, List strides) {
  return call1(op::slice, {x},
               slice_attributes(std::move(starts), std::move(limits), std::move(strides)));
}

Value slice(Value x, std::initializer_list<std::int64_t> starts,
            std::initializer_list<std::int64_t> limits,
            std::initializer_list<std::int64_t> strides) {
  return slice(x, List(starts), List(limits), List(strides));
}

Value slice(Value x, std::int64_t axis, std::int64_t start, std::int64_t limit) {
  const Shape shape = x.shape();
  const std::size_t a = normalize_axis(axis, shape.rank(), op::slice.name);
  if (start == 0 && limit == shape[a]) return x;
  List starts(shape.rank(), 0);
  List limits(shape.begin(), shape.end());
  starts[a] = start;
  limits[a] = limit;
  return slice(x, std::move(starts), std::move(limits), List(shape.rank(), 1));
}

std::vector<Value> split(Value x, std::int64_t parts, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "split");
  const std::int64_t size = x.shape()[a];
  if (parts < 1 || size % parts != 0)
    throw Error(ErrorCode::kShape,
                fmt::format("split: dimension {} of {} does not divide into {} equal parts", axis,
                            to_string(x.type()), parts));
  Values result;
  for (std::int64_t i = 0; i < parts; ++i)
    result.push_back(slice(x, axis, i * (size / parts), (i + 1) * (size / parts)));
  return result;
}

std::vector<Value> unstack(Value x, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "unstack");
  const Shape part = x.shape().erase(a);
  Values parts = split(x, x.shape()[a], axis);
  for (Value& v : parts) v = reshape(v, part);
  return parts;
}

Value pad(Value x, List low, List high, List interior, double value) {
  return call1(op::pad, {x},
               pad_attributes(std::move(low), std::move(high), std::move(interior), value));
}

Value concatenate(const std::vector<Value>& parts, std::int64_t axis) {
  if (parts.empty())
    throw Error(ErrorCode::kInvalidArgument, "concatenate: expected at least one part, got none");
  const auto a =
      static_cast<std::int64_t>(normalize_axis(axis, parts[0].rank(), op::concatenate.name));
  // If there are more parts than a call takes, they are joined in groups.
  Values rest = parts;
  while (rest.size() > 1) {
    Values joined_parts;
    for (std::size_t i = 0; i < rest.size(); i += kMostParts) {
      const std::size_t n = std::min<std::size_t>(kMostParts, rest.size() - i);
      joined_parts.push_back(
          call(op::concatenate, std::span<const Value>(rest).subspan(i, n), {{"axis", a}})[0]);
    }
    rest = std::move(joined_parts);
  }
  return rest[0];
}

Value gather(Value x, Value indices, std::int64_t batch) {
  return call1(op::gather, {x, indices}, batch_attribute(batch));
}

namespace {

// An op on rows along any axis.
Value rows_along(const Op& op, const Value& x, const Value& indices, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), op.name);
  if (a == 0) return call1(op, {x, indices}, batch_attribute(0));
  // The axis is moved to the front; afterwards the dimensions of the indices are moved to its
  // place.
  List to_front{static_cast<std::int64_t>(a)};
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (d != a) to_front.push_back(static_cast<std::int64_t>(d));
  const Value rows = call1(op, {transpose(x, to_front), indices}, batch_attribute(0));
  const auto numbers = static_cast<std::int64_t>(indices.rank());
  List back;
  for (std::size_t d = 0; d < a; ++d) back.push_back(numbers + static_cast<std::int64_t>(d));
  for (std::int64_t d = 0; d < numbers; ++d) back.push_back(d);
  for (std::size_t d = a + 1; d < x.rank(); ++d)
    back.push_back(numbers + static_cast<std::int64_t>(d) - 1);
  return transpose(rows, back);
}

}  // namespace

Value gather_along(Value x, Value indices, std::int64_t axis) {
  return rows_along(op::gather, x, indices, axis);
}

Value take_rows(Value x, Value indices, std::int64_t batch) {
  return call1(op::take, {x, indices}, batch_attribute(batch));
}

Value take(Value x, Value indices, std::int64_t axis) {
  return rows_along(op::take, x, indices, axis);
}

Value scatter_add(Value indices, Value updates, std::int64_t size, std::int64_t batch) {
  return call1(op::scatter_add, {indices, updates}, scatter_attributes(size, batch));
}

}  // namespace limpid
