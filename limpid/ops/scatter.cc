#include "limpid/ops/scatter.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/rows.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

// ---- types

std::vector<Type> scatter_types(const Call& call) {
  require_index(call, 1);
  require_dtype(call, 2, call.inputs[0].dtype);
  const std::size_t batch = batch_of(call);
  const Shape& x = call.inputs[0].shape;
  const bool has_rows = x.rank() > batch;
  if (!has_rows || !(joined(call, {call.inputs[1].shape.dims(), x.dims().subspan(batch + 1)}) ==
                     call.inputs[2].shape))
    throw Error(
        ErrorCode::kShape,
        fmt::format(
            "{}: x is {}, indices {}, updates {}; expected a row of updates for every index",
            where(call), to_string(call.inputs[0]), to_string(call.inputs[1]),
            to_string(call.inputs[2])));
  return {call.inputs[0]};
}

std::vector<Type> numeric_scatter_types(const Call& call) {
  require_numeric(call, 0);
  return scatter_types(call);
}

// ---- reference arithmetic

struct Replace {
  template <class T>
  static T combine(T, T update) {
    return update;
  }
};
struct MultiplyUpdate {
  template <class T>
  static T combine(T x, T update) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(x) * static_cast<U>(update));
    } else {
      return x * update;
    }
  }
};
struct Larger {
  template <class T>
  static T combine(T x, T update) {
    if constexpr (std::is_integral_v<T>)
      return std::max(x, update);
    else
      return arithmetic::maximum(x, update);
  }
};
struct Smaller {
  template <class T>
  static T combine(T x, T update) {
    if constexpr (std::is_integral_v<T>)
      return std::min(x, update);
    else
      return arithmetic::minimum(x, update);
  }
};

template <class F, class T>
void scatter_rows(const Call& call, std::span<const void* const> in, std::span<void* const> out) {
  const Rows r = rows_of(call.inputs[1].shape, call.inputs[0].shape, batch_of(call));
  std::copy_n(static_cast<const T*>(in[0]), call.inputs[0].shape.elements(),
              static_cast<T*>(out[0]));
  for_each_row(call.inputs[1], in[1], r, [&](std::size_t i, std::int64_t row) {
    if (row < 0) return;
    const T* from = static_cast<const T*>(in[2]) + i * r.width;
    T* to = static_cast<T*>(out[0]) + static_cast<std::size_t>(row) * r.width;
    for (std::size_t k = 0; k < r.width; ++k) to[k] = F::combine(to[k], from[k]);
  });
}

void replace_reference(const Call& call, std::span<const void* const> in,
                       std::span<void* const> out) {
  dispatch_size(call.inputs[0].dtype,
                [&](auto zero) { scatter_rows<Replace, decltype(zero)>(call, in, out); });
}
template <class F>
void numeric_reference(const Call& call, std::span<const void* const> in,
                       std::span<void* const> out) {
  dispatch_numeric(call.inputs[0].dtype,
                   [&](auto zero) { scatter_rows<F, decltype(zero)>(call, in, out); });
}

// ---- gradients

// The inputs of a gradient rule, by name.
struct ScatterParts {
  explicit ScatterParts(const GradientCall& c)
      : x(c.inputs[0]),
        indices(c.inputs[1]),
        updates(c.inputs[2]),
        result(c.outputs[0]),
        g(c.cotangents[0]),
        batch(c.attributes.integer("batch")),
        rows(x.shape()[static_cast<std::size_t>(batch)]) {}

  // For every update: the row that it goes to.
  Value of_rows(const Value& v) const { return gather(v, indices, batch); }
  // For every row: the sum over its updates.
  Value of_updates(const Value& v) const { return scatter_add(indices, v, rows, batch); }
  Value as_number(const Value& mask) const { return cast(mask, x.dtype()); }

  Value x, indices, updates, result, g;
  std::int64_t batch, rows;
};

// Broadcasts a number per row (or update) to the elements of that row.
Value over_elements(Value v, const Shape& shape) {
  Shape narrow = v.shape();
  while (narrow.rank() < shape.rank()) narrow = narrow.insert(narrow.rank(), 1);
  return broadcast(reshape(v, narrow), shape);
}

// A row of the result is its last update, or the row of x if it has none.
Values replace_gradient(const GradientCall& c) {
  const ScatterParts p(c);
  const Shape numbers = p.indices.shape();
  const Value order = reshape(iota(p.x.builder(), numbers.elements()), numbers);
  const Shape rows(p.x.shape().dims().first(static_cast<std::size_t>(p.batch) + 1));
  const Value nobody = broadcast(constant(p.x.builder(), -1, Dtype::kI32), rows);
  const Value owner = scatter(nobody, p.indices, order, ScatterMode::kReplace, p.batch);
  const Value kept = over_elements(owner == nobody, p.x.shape());
  const Value stays = over_elements(p.of_rows(owner) == order, p.updates.shape());
  const Value from_row = p.of_rows(p.g);
  return {select(kept, p.g, number_like(p.g, 0)), Value(),
          select(stays, from_row, number_like(from_row, 0))};
}

// The product of all other factors, without dividing by a factor, which may be zero.
Values multiply_update_gradient(const GradientCall& c) {
  const ScatterParts p(c);
  const auto without_zeros = [](Value v) {
    return select(v == number_like(v, 0), number_like(v, 1), v);
  };
  const auto is_zero = [&](Value v) { return p.as_number(v == number_like(v, 0)); };
  const Value zeros = is_zero(p.x) + p.of_updates(is_zero(p.updates));
  const Value product = scatter(without_zeros(p.x), p.indices, without_zeros(p.updates),
                                ScatterMode::kMultiply, p.batch);
  const auto others = [](Value factor, Value all_zeros, Value all) {
    const Value none = number_like(factor, 0);
    const Value with_zero = select(all_zeros == number_like(factor, 1), all, none);
    const Value without_zero = select(all_zeros == none, all / factor, none);
    return select(factor == none, with_zero, without_zero);
  };
  return {p.g * others(p.x, zeros, product), Value(),
          p.of_rows(p.g) * others(p.updates, p.of_rows(zeros), p.of_rows(product))};
}

// All elements that equal the result get an equal share.
Values extreme_update_gradient(const GradientCall& c) {
  const ScatterParts p(c);
  const Value x_wins = p.x == p.result;
  const Value update_wins = p.updates == p.of_rows(p.result);
  const Value share = p.g / (p.as_number(x_wins) + p.of_updates(p.as_number(update_wins)));
  const Value of_updates = p.of_rows(share);
  return {select(x_wins, share, number_like(share, 0)), Value(),
          select(update_wins, of_updates, number_like(of_updates, 0))};
}

// ---- batching, examples

template <const Op& op>
Values scatter_batching(const BatchingCall& c) {
  return {call1(op, {batched_input(c, 0), batched_input(c, 1), batched_input(c, 2)},
                {{"batch", c.attributes.integer("batch") + 1}})};
}

std::int64_t scatter_flops(const Call& call) { return call.inputs[2].shape.elements(); }

std::vector<Example> numeric_scatter_examples() {
  const Dtype f32 = Dtype::kF32, f64 = Dtype::kF64, i32 = Dtype::kI32, i64 = Dtype::kI64;
  return {
      {{{f32, {4, 3}}, {i32, {9}}, {f32, {9, 3}}}, batch_attribute(0), -2, 2, 5},
      {{{f64, {3}}, {i64, {2, 3}}, {f64, {2, 3}}}, batch_attribute(0), -2, 2, 4},
      {{{f64, {2, 3, 2}}, {i32, {2, 4}}, {f64, {2, 4, 2}}}, batch_attribute(1), -2, 2, 4},
      {{{f64, {2, 3}}, {i32, {}}, {f64, {3}}}, batch_attribute(0), -2, 2, 2},
      {{{i64, {5}}, {i32, {4}}, {i64, {4}}}, batch_attribute(0), -2, 2, 5},
  };
}
std::vector<Example> scatter_examples() {
  std::vector<Example> examples = numeric_scatter_examples();
  examples.push_back({{{Dtype::kBool, {4}}, {Dtype::kI32, {3}}, {Dtype::kBool, {3}}},
                      batch_attribute(0),
                      -2,
                      2,
                      4});
  return examples;
}

CppCall scatter_cpp(const Call& call, std::string function) {
  return rows_cpp(call, std::move(function), call.inputs[1].shape, call.inputs[0].shape);
}
CppCall replace_cpp(const Call& call) { return scatter_cpp(call, "scatter<Replace>"); }
CppCall multiply_cpp(const Call& call) { return scatter_cpp(call, "scatter<Multiply>"); }
CppCall maximum_cpp(const Call& call) { return scatter_cpp(call, "scatter<Maximum>"); }
CppCall minimum_cpp(const Call& call) { return scatter_cpp(call, "scatter<Minimum>"); }

constexpr Onnx kScatterNd{"ScatterND", 18};
constexpr std::string_view kSince18 = "ONNX has it from opset 18 on, but opset 17 is written";

template <const Op& op>
consteval Op scattering(std::string_view name, std::string_view formula, TypeRule types,
                        Reference reference, Gradient rule, bool smooth, std::string_view accuracy,
                        CppCall (*cpp)(const Call&), Onnx onnx,
                        std::vector<Example> (*examples)()) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = "x[`batch`, n, ...], indices[`batch`, i...], updates[`batch`, i..., "
                             "...] -> that of x",
                   .min_inputs = 3,
                   .max_inputs = 3,
                   .attributes = kBatchAttribute,
                   .types = types,
                   .reference = reference,
                   .gradient = gradient(rule),
                   .smooth = smooth,
                   .batching = batching(scatter_batching<op>),
                   .example_axis = in_batch_dimensions,
                   .flops = scatter_flops,
                   .cpp = cpp_call(cpp),
                   .onnx = onnx,
                   .accuracy = accuracy,
                   .examples = examples});
}

}  // namespace

namespace op {

constinit const Op scatter = scattering<scatter>(
    "scatter", "x with row indices[i] replaced by row i of the updates; the last one wins",
    scatter_types, replace_reference, replace_gradient, true, kExact, replace_cpp, kScatterNd,
    scatter_examples);
constinit const Op scatter_multiply = scattering<scatter_multiply>(
    "scatter_multiply", "x with row indices[i] multiplied by row i of the updates",
    numeric_scatter_types, numeric_reference<MultiplyUpdate>, multiply_update_gradient, true,
    kSummed, multiply_cpp, kScatterNd, numeric_scatter_examples);
constinit const Op scatter_maximum = scattering<scatter_maximum>(
    "scatter_maximum",
    "x with row indices[i] replaced by the larger of it and row i of the updates",
    numeric_scatter_types, numeric_reference<Larger>, extreme_update_gradient, false, kExact,
    maximum_cpp, no_onnx(kSince18, kScatterNd), numeric_scatter_examples);
constinit const Op scatter_minimum = scattering<scatter_minimum>(
    "scatter_minimum",
    "x with row indices[i] replaced by the smaller of it and row i of the updates",
    numeric_scatter_types, numeric_reference<Smaller>, extreme_update_gradient, false, kExact,
    minimum_cpp, no_onnx(kSince18, kScatterNd), numeric_scatter_examples);

}  // namespace op

constexpr const Op* kScatterOps[] = {&op::scatter, &op::scatter_multiply, &op::scatter_maximum,
                                     &op::scatter_minimum};
constexpr OpList scatter_ops = kScatterOps;

Value scatter(Value x, Value indices, Value updates, ScatterMode mode, std::int64_t batch) {
  const auto write = [&](const Op& op) {
    return call1(op, {x, indices, updates}, batch_attribute(batch));
  };
  switch (mode) {
    case ScatterMode::kReplace:
      return write(op::scatter);
    case ScatterMode::kMultiply:
      return write(op::scatter_multiply);
    case ScatterMode::kMaximum:
      return write(op::scatter_maximum);
    case ScatterMode::kMinimum:
      return write(op::scatter_minimum);
    case ScatterMode::kAdd:
      break;
  }
  if (batch < 0 || batch >= static_cast<std::int64_t>(x.rank()))
    throw Error(ErrorCode::kShape, fmt::format("scatter: {} has no rows after {} dimensions",
                                               to_string(x.type()), batch));
  const Value sums =
      scatter_add(indices, updates, x.shape()[static_cast<std::size_t>(batch)], batch);
  if (!(sums.type() == x.type()))
    throw Error(
        sums.dtype() == x.dtype() ? ErrorCode::kShape : ErrorCode::kDtype,
        fmt::format(
            "scatter: x is {}, indices {}, updates {}; expected a row of updates for every index",
            to_string(x.type()), to_string(indices.type()), to_string(updates.type())));
  return x + sums;
}

}  // namespace limpid
