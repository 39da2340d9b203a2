#include "limpid/ops/reduce.h"

#include <fmt/format.h>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/detail/moments.h"
#include "limpid/ops/extremes.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr std::string_view kReductionShapes = "[...] -> [...] without `axis`";

// The attribute stores a non-negative axis, so that equal reductions are equal calls.
std::size_t axis_of(const Call& call) {
  const std::int64_t axis = call.attributes.integer("axis");
  const std::size_t rank = call.inputs[0].shape.rank();
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
    throw Error(ErrorCode::kShape, fmt::format("{}: axis {} is outside of {}", where(call), axis,
                                               to_string(call.inputs[0])));
  return static_cast<std::size_t>(axis);
}

std::vector<Type> reduction_types(const Call& call) {
  require_numeric(call, 0);
  return {{call.inputs[0].dtype, call.inputs[0].shape.erase(axis_of(call))}};
}

bool is_counted(Dtype dtype) { return dtype == Dtype::kBool || is_integer(dtype); }

// Integers and booleans are added in i64.
std::vector<Type> sum_types(const Call& call) {
  const Dtype dtype = call.inputs[0].dtype;
  if (!is_counted(dtype) && !is_computed_with(dtype))
    throw_dtype(call, 0, "f32, f64, bool or integers");
  return {{is_counted(dtype) ? Dtype::kI64 : dtype, call.inputs[0].shape.erase(axis_of(call))}};
}

std::vector<Type> argmax_types(const Call& call) {
  require_numeric(call, 0);
  const std::size_t axis = axis_of(call);
  if (call.inputs[0].shape[axis] == 0)
    throw Error(ErrorCode::kShape, fmt::format("{}: axis {} of {} is empty", where(call), axis,
                                               to_string(call.inputs[0])));
  require_i32_indices(call, call.inputs[0].shape[axis]);
  return {{Dtype::kI32, call.inputs[0].shape.erase(axis)}};
}

// Calls f(first element, stride, count, result index) for every line of elements along the axis.
template <class F>
void for_each_line(const Call& call, const F& f) {
  const Shape& shape = call.inputs[0].shape;
  const std::size_t axis = axis_of(call);
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
  for (std::size_t d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      f(o * shape[axis] * inner + i, inner, shape[axis], o * inner + i);
}

double line_sum(const double* x, std::size_t stride, std::size_t n, bool last) {
  return last ? arithmetic::sum({x, n}) : arithmetic::strided_sum(x, stride, n);
}
float line_sum(const float* x, std::size_t stride, std::size_t n, bool last) {
  return last ? arithmetic::sum({x, n}) : arithmetic::strided_sum(x, stride, n);
}
// Of any other type; wraps around beyond i64.
template <class T>
std::int64_t line_sum(const T* x, std::size_t stride, std::size_t n, bool) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < n; ++i)
    total += static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i * stride]));
  return static_cast<std::int64_t>(total);
}

void sum_reference(const Call& call, std::span<const void* const> in, std::span<void* const> out) {
  const bool last = axis_of(call) + 1 == call.inputs[0].shape.rank();
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const T* x = static_cast<const T*>(in[0]);
    for_each_line(call, [&](std::int64_t first, std::int64_t stride, std::int64_t n, auto result) {
      const auto total =
          line_sum(x + first, static_cast<std::size_t>(stride), static_cast<std::size_t>(n), last);
      static_cast<std::remove_const_t<decltype(total)>*>(out[0])[result] = total;
    });
  };
  if (call.inputs[0].dtype == Dtype::kBool) return run(bool{});
  dispatch_arithmetic(call.inputs[0].dtype, run);
}

template <class F>
void extreme_reference(const Call& call, std::span<const void* const> in,
                       std::span<void* const> out) {
  dispatch_numeric(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* x = static_cast<const T*>(in[0]);
    for_each_line(call, [&](std::int64_t first, std::int64_t stride, std::int64_t n, auto result) {
      T best = F::template start<T>();
      for (std::int64_t i = 0; i < n; ++i) best = F::better(best, x[first + i * stride]);
      static_cast<T*>(out[0])[result] = best;
    });
  });
}

void argmax_reference(const Call& call, std::span<const void* const> in,
                      std::span<void* const> out) {
  const auto is_nan = [](auto v) { return v != v; };
  dispatch_numeric(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* x = static_cast<const T*>(in[0]);
    for_each_line(call, [&](std::int64_t first, std::int64_t stride, std::int64_t n, auto result) {
      std::int64_t best = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const T value = x[first + i * stride];
        if (is_nan(x[first + best * stride])) break;
        if (is_nan(value) || value > x[first + best * stride]) best = i;
      }
      static_cast<std::int32_t*>(out[0])[result] = static_cast<std::int32_t>(best);
    });
  });
}

Values sum_gradient(const GradientCall& c) {
  return {expand_axis(c.cotangents[0], c.inputs[0].shape(), c.attributes.integer("axis"))};
}

// Every element that equals the largest (or smallest) gets an equal share.
Values extreme_gradient(const GradientCall& c) {
  const std::int64_t axis = c.attributes.integer("axis");
  const Shape& shape = c.inputs[0].shape();
  const Value wins = c.inputs[0] == expand_axis(c.outputs[0], shape, axis);
  const Value share = c.cotangents[0] / sum(cast(wins, c.inputs[0].dtype()), axis);
  return {select(wins, expand_axis(share, shape, axis), number_like(c.inputs[0], 0))};
}

template <const Op& op>
Values reduction_batching(const BatchingCall& c) {
  return {call1(op, {c.inputs[0]}, {{"axis", c.attributes.integer("axis") + 1}})};
}

Values prod_body(std::span<const Value> in, const Attributes& attributes) {
  const std::int64_t axis = attributes.integer("axis");
  const auto a = static_cast<std::size_t>(axis);
  const Shape result = in[0].shape().erase(a);
  Value x = in[0];
  if (x.shape().elements() == 0)  // another axis may be 0, and this one of any size
    return {broadcast(constant(x.builder(), 1, x.dtype()), result)};
  for (std::int64_t n = x.shape()[a]; n > 1; n = x.shape()[a]) {
    const std::int64_t half = n / 2;
    Value y = slice(x, axis, 0, half) * slice(x, axis, half, 2 * half);
    x = n == 2 * half ? y : concatenate({y, slice(x, axis, n - 1, n)}, axis);
  }
  return {reshape(x, result)};
}

std::int64_t reduction_flops(const Call& call) { return call.inputs[0].shape.elements(); }

std::vector<Example> reduction_examples() {
  std::vector<Example> examples;
  for (Dtype d : {Dtype::kF32, Dtype::kF64}) {
    examples.push_back({{{d, {37}}}, {{"axis", std::int64_t{0}}}});
    examples.push_back({{{d, {3, 19}}}, {{"axis", std::int64_t{1}}}});
    examples.push_back({{{d, {300, 3}}}, {{"axis", std::int64_t{0}}}});
    examples.push_back({{{d, {2, 4, 3}}}, {{"axis", std::int64_t{1}}}});
  }
  for (Dtype d : {Dtype::kI32, Dtype::kI64})
    examples.push_back({{{d, {4, 9}}}, {{"axis", std::int64_t{1}}}, -2, 2, 1000});
  return examples;
}

std::vector<Example> sum_examples() {
  std::vector<Example> examples = reduction_examples();
  for (Dtype d : {Dtype::kI8, Dtype::kU8, Dtype::kBool})
    examples.push_back({{{d, {4, 9}}}, {{"axis", std::int64_t{0}}}, -2, 2, 120});
  return examples;
}

// Elements before, along and after the axis.
std::vector<std::int64_t> around_axis(const Call& call) {
  const Shape& x = call.inputs[0].shape;
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  return {Shape(x.dims().first(axis)).elements(), x[axis],
          Shape(x.dims().subspan(axis + 1)).elements()};
}

CppCall sum_cpp(const Call& call) {
  std::vector<std::int64_t> numbers = around_axis(call);
  const bool last =
      call.attributes.integer("axis") + 1 == static_cast<std::int64_t>(call.inputs[0].shape.rank());
  if (!is_floating(call.inputs[0].dtype)) return {"sum_integers", numbers};
  if (!last) return {"sum_columns", numbers};
  numbers.pop_back();
  return {"sum_rows", numbers};
}
CppCall max_cpp(const Call& call) { return {"fold<Highest>", around_axis(call)}; }
CppCall min_cpp(const Call& call) { return {"fold<Lowest>", around_axis(call)}; }
CppCall argmax_cpp(const Call& call) { return {"argmax", around_axis(call)}; }

ExampleResults reduction_axis(const ExampleCall& c) {
  const auto at = c.axis_of(0);
  const auto axis = static_cast<std::size_t>(c.call.attributes.integer("axis"));
  if (!at || at->axis == axis) return {};
  return one_result(c, at->axis - (at->axis > axis ? 1 : 0), at->after);
}

template <const Op& op>
consteval Op reduction(std::string_view name, std::string_view formula, TypeRule types,
                       Reference reference, GradientRule rule, CppCall (*cpp)(const Call&),
                       Onnx onnx, std::string_view accuracy, bool smooth,
                       std::vector<Example> (*examples)() = reduction_examples) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = kReductionShapes,
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .attributes = kAxisAttribute,
                   .types = types,
                   .reference = reference,
                   .gradient = rule,
                   .smooth = smooth,
                   .batching = batching(reduction_batching<op>),
                   .example_axis = reduction_axis,
                   .flops = reduction_flops,
                   .cpp = cpp_call(cpp),
                   .onnx = onnx,
                   .accuracy = accuracy,
                   .examples = examples});
}

}  // namespace

namespace op {

constinit const Op sum = reduction<sum>(
    "sum", "the sum over an axis; of integers and booleans in i64", sum_types, sum_reference,
    gradient(sum_gradient), sum_cpp, {"ReduceSum", 13}, kSummed, true, sum_examples);
constinit const Op prod = complete({.name = "prod",
                                    .formula = "the product over an axis",
                                    .shapes = kReductionShapes,
                                    .min_inputs = 1,
                                    .max_inputs = 1,
                                    .attributes = kAxisAttribute,
                                    .types = reduction_types,
                                    .body = prod_body,
                                    .gradient = gradient_through_body(),
                                    .batching = batching(reduction_batching<prod>),
                                    .flops = reduction_flops,
                                    .onnx = {"ReduceProd", 18},
                                    .examples = reduction_examples});
constinit const Op max =
    reduction<max>("max", "the largest over an axis; NaN if any is NaN", reduction_types,
                   extreme_reference<Highest>, gradient(extreme_gradient), max_cpp,
                   {"ReduceMax", 20}, kExact, false);
constinit const Op min =
    reduction<min>("min", "the smallest over an axis; NaN if any is NaN", reduction_types,
                   extreme_reference<Lowest>, gradient(extreme_gradient), min_cpp,
                   {"ReduceMin", 20}, kExact, false);
constinit const Op argmax = reduction<argmax>(
    "argmax", "the index of the first largest over an axis", argmax_types, argmax_reference,
    no_gradient("an index is an integer: its derivative is zero wherever it exists"), argmax_cpp,
    {"ArgMax", 13}, kExact, false);

}  // namespace op

constexpr const Op* kReduceOps[] = {&op::sum, &op::prod, &op::max, &op::min, &op::argmax};
constexpr OpList reduce_ops = kReduceOps;

namespace {

Value reduce(const Op& op, const Value& x, std::int64_t axis) {
  const std::size_t from_front = normalize_axis(axis, x.rank(), op.name);
  return call1(op, {x}, {{"axis", static_cast<std::int64_t>(from_front)}});
}

// The dtype of a mean: a share of true is a number.
Dtype of_mean(const Value& x) { return x.dtype() == Dtype::kBool ? Dtype::kF32 : x.dtype(); }

template <class F>
Value averaged(const Value& x, std::string_view what, const F& f) {
  if (is_integer(x.dtype()))
    throw Error(ErrorCode::kDtype,
                fmt::format("{} of {}: a quotient of integers is none; cast to f32 first", what,
                            to_string(x.type())));
  return added_up(x, f);
}

}  // namespace

Value sum(Value x, std::int64_t axis) {
  return added_up(x, [&](const Value& v) { return reduce(op::sum, v, axis); });
}
Value max(Value x, std::int64_t axis) { return reduce(op::max, x, axis); }
Value min(Value x, std::int64_t axis) { return reduce(op::min, x, axis); }
Value argmax(Value x, std::int64_t axis) { return reduce(op::argmax, x, axis); }
// -1 - x reverses the order of integers without overflow. argmax refuses what is of other types.
Value argmin(Value x, std::int64_t axis) {
  switch (x.dtype()) {
    case Dtype::kI32:
    case Dtype::kI64:
      return argmax(-1.0 - x, axis);
    case Dtype::kF32:
    case Dtype::kF64:
      return argmax(-x, axis);
    default:
      return argmax(x, axis);
  }
}
Value prod(Value x, std::int64_t axis) {
  return added_up(x, [&](const Value& v) {
    return reduce(op::prod, is_counted(v.dtype()) ? cast(v, Dtype::kI64) : v, axis);
  });
}

Value mean(Value x, std::int64_t axis) {
  const Shape shape = x.shape();
  const auto count = shape[normalize_axis(axis, shape.rank(), "mean")];
  return averaged(x, "mean", [&](const Value& v) {
    return cast(sum(v, axis), of_mean(v)) / static_cast<double>(count);
  });
}
Value variance(Value x, std::int64_t axis) {
  return averaged(x, "variance", [&](const Value& v) {
    const Value y = cast(v, of_mean(v));
    const auto mean_of = [&](const Value& u) { return mean(u, axis); };
    const auto spread = [&](const Value& u) { return expand_axis(u, y.shape(), axis); };
    return moments_of(y, mean_of, spread).variance;
  });
}
// The mean of equal numbers may be rounded, so their variance is not 0 to the bit. The root of a
// constant has a slope, that of 0 has none.
Value standard_deviation(Value x, std::int64_t axis) {
  return averaged(x, "standard_deviation", [&](const Value& v) {
    const Value y = cast(v, of_mean(v));
    const Value range = max(y, axis) - min(y, axis);
    const Value equal = range == number_like(range, 0);
    const Value spread = select(equal, number_like(range, 1), variance(v, axis));
    return select(equal, number_like(range, 0), sqrt(spread));
  });
}

Value sum(Value x) { return sum(reshape(x, Shape{x.shape().elements()}), 0); }
Value mean(Value x) { return mean(reshape(x, Shape{x.shape().elements()}), 0); }

Value expand_axis(Value reduced, const Shape& shape, std::int64_t axis) {
  const std::size_t at = normalize_axis(axis, shape.rank(), "expand_axis");
  return broadcast(reshape(reduced, shape.replace(at, 1)), shape);
}

}  // namespace limpid
