#include "limpid/ops/pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/extremes.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/scatter.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;
using List = std::vector<std::int64_t>;

constexpr AttributeSpec kWindowAttributes[] = {{"dilation", AttributeKind::kIntegers},
                                               {"high", AttributeKind::kIntegers},
                                               {"kernel", AttributeKind::kIntegers},
                                               {"low", AttributeKind::kIntegers},
                                               {"stride", AttributeKind::kIntegers}};
constexpr AttributeSpec kAverageAttributes[] = {
    {"counted_high", AttributeKind::kIntegers}, {"counted_low", AttributeKind::kIntegers},
    {"dilation", AttributeKind::kIntegers},     {"high", AttributeKind::kIntegers},
    {"kernel", AttributeKind::kIntegers},       {"low", AttributeKind::kIntegers},
    {"stride", AttributeKind::kIntegers}};
constexpr AttributeSpec kLpAttributes[] = {{"dilation", AttributeKind::kIntegers},
                                           {"high", AttributeKind::kIntegers},
                                           {"kernel", AttributeKind::kIntegers},
                                           {"low", AttributeKind::kIntegers},
                                           {"p", AttributeKind::kReal},
                                           {"stride", AttributeKind::kIntegers}};
constexpr std::string_view kPoolShapes =
    "[..., n...] -> [..., (n + low + high - dilation (kernel - 1) - 1) / stride + 1...]; n are as "
    "many dimensions as `kernel` has numbers";

const List& list_of(const Attributes& attributes, std::string_view name) {
  return attributes.get<List>(name);
}

// ---- types

// The number of windows along an axis; nullopt if one does not fit, or if numbers overflow.
std::optional<std::int64_t> windows_along(const WindowAxis& a, std::int64_t high) {
  std::int64_t reach = 0, padded = 0;
  if (__builtin_mul_overflow(a.kernel - 1, a.dilation, &reach) ||
      __builtin_add_overflow(a.size, a.low, &padded) ||
      __builtin_add_overflow(padded, high, &padded) || padded <= reach)
    return {};
  return (padded - reach - 1) / a.stride + 1;
}

std::vector<Type> pool_types(const Call& call) {
  const List& kernel = list_of(call.attributes, "kernel");
  const Type& x = call.inputs[0];
  if (kernel.empty() || kernel.size() > 3 || kernel.size() > x.shape.rank())
    throw Error(ErrorCode::kShape,
                fmt::format("{}: kernel has {} numbers, expected one for each of the last 1 to 3 "
                            "dimensions of {}",
                            where(call), kernel.size(), to_string(x)));
  const auto numbers = [&](std::string_view name) -> const List& {
    const List& values = list_of(call.attributes, name);
    if (values.size() != kernel.size())
      throw Error(ErrorCode::kShape, fmt::format("{}: {} has {} numbers, kernel has {}",
                                                 where(call), name, values.size(), kernel.size()));
    return values;
  };
  const List &stride = numbers("stride"), &low = numbers("low"), &high = numbers("high"),
             &dilation = numbers("dilation");
  Shape shape = x.shape;
  const std::size_t first = x.shape.rank() - kernel.size();
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    if (kernel[d] < 1 || stride[d] < 1 || dilation[d] < 1 || low[d] < 0 || high[d] < 0)
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: kernel {}, stride {}, dilation {}, padding {} and {}; expected "
                              "1 or more, and padding of 0 or more",
                              where(call), kernel[d], stride[d], dilation[d], low[d], high[d]));
    const std::int64_t size = x.shape[first + d];
    const auto count = windows_along({size, 0, kernel[d], stride[d], dilation[d], low[d]}, high[d]);
    if (!count)
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: no window of {} elements with dilation {} fits into dimension "
                              "{} of {} with padding {} and {}",
                              where(call), kernel[d], dilation[d], first + d, to_string(x), low[d],
                              high[d]));
    shape = shape.replace(first + d, *count);
  }
  return {{x.dtype, shape}};
}

std::vector<Type> floating_pool_types(const Call& call) {
  require_floating(call, 0);
  return pool_types(call);
}
std::vector<Type> numeric_pool_types(const Call& call) {
  require_numeric(call, 0);
  return pool_types(call);
}
std::vector<Type> pool_index_types(const Call& call) {
  Type type = numeric_pool_types(call)[0];
  const std::size_t kept = call.inputs[0].shape.rank() - list_of(call.attributes, "kernel").size();
  const std::int64_t plane = Shape(call.inputs[0].shape.dims().subspan(kept)).elements();
  if (plane > std::numeric_limits<std::int32_t>::max())
    throw Error(
        ErrorCode::kShape,
        fmt::format("{}: {} has {} elements in its last {} dimensions, at most {} have an "
                    "index of i32",
                    where(call), to_string(call.inputs[0]), plane,
                    call.inputs[0].shape.rank() - kept, std::numeric_limits<std::int32_t>::max()));
  type.dtype = Dtype::kI32;
  return {type};
}

// ---- reference arithmetic

void sum_windows_reference(const Call& call, std::span<const void* const> in,
                           std::span<void* const> out) {
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    sum_windows(windows_of(call), static_cast<const T*>(in[0]), static_cast<T*>(out[0]));
  });
}
void max_pool_reference(const Call& call, std::span<const void* const> in,
                        std::span<void* const> out) {
  dispatch_numeric(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    extreme_windows<Highest>(windows_of(call), static_cast<const T*>(in[0]),
                             static_cast<T*>(out[0]));
  });
}
void max_pool_indices_reference(const Call& call, std::span<const void* const> in,
                                std::span<void* const> out) {
  dispatch_numeric(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    argmax_windows(windows_of(call), static_cast<const T*>(in[0]),
                   static_cast<std::int32_t*>(out[0]));
  });
}

// ---- gradients

// x (..., n...) as (planes, elements).
Value as_planes(const Value& x, std::size_t dims) {
  const Shape shape = x.shape();
  const std::size_t kept = shape.rank() - dims;
  return reshape(x, {Shape(shape.dims().first(kept)).elements(),
                     Shape(shape.dims().subspan(kept)).elements()});
}

// Whether each element is in at most one window, and windows begin at the first element and touch.
bool is_a_grid(const Attributes& attributes) {
  const auto all = [&](std::string_view name, std::int64_t number) {
    const List& values = list_of(attributes, name);
    return std::all_of(values.begin(), values.end(), [&](auto v) { return v == number; });
  };
  return list_of(attributes, "kernel") == list_of(attributes, "stride") && all("dilation", 1) &&
         all("low", 0);
}

// v with each element repeated to its window of a grid, cut or padded with zeros to `shape`.
Value spread_over_grid(const Value& v, const List& kernel, const Shape& shape) {
  const std::size_t first = shape.rank() - kernel.size();
  const std::int64_t planes = Shape(shape.dims().first(first)).elements();
  List apart{planes}, repeated{planes}, together{planes}, cut{planes}, high{0};
  List back(shape.begin(), shape.end());
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::int64_t count = v.shape()[first + d], size = shape[first + d];
    for (const std::int64_t n : {count, std::int64_t{1}}) apart.push_back(n);
    for (const std::int64_t n : {count, kernel[d]}) repeated.push_back(n);
    together.push_back(count * kernel[d]);
    cut.push_back(std::min(size, together.back()));
    high.push_back(size - cut.back());
  }
  const List none(cut.size(), 0), every(cut.size(), 1);
  const Value whole =
      reshape(broadcast(reshape(v, Shape(apart)), Shape(repeated)), Shape(together));
  return reshape(pad(slice(whole, none, cut, every), none, high, none), shape);
}

// The sums of the windows that an element is in: those of the cotangents, stride - 1 zeros between
// them, in the order of the windows' last element to their first.
Values window_sum_gradient(const GradientCall& c) {
  const Value g = c.cotangents[0];
  const Shape x = c.inputs[0].shape(), y = g.shape();
  if (x.elements() == 0) return {Value()};
  if (is_a_grid(c.attributes)) return {spread_over_grid(g, list_of(c.attributes, "kernel"), x)};
  const List &kernel = list_of(c.attributes, "kernel"), &stride = list_of(c.attributes, "stride"),
             &dilation = list_of(c.attributes, "dilation"), &low = list_of(c.attributes, "low");
  const std::size_t first = x.rank() - kernel.size();
  List none(x.rank(), 0), between = none, starts = none;
  List limits(y.begin(), y.end());
  PoolOptions options{.kernel = kernel, .stride = List(kernel.size(), 1), .dilation = dilation};
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::size_t a = first + d;
    between[a] = stride[d] - 1;
    limits[a] = (y[a] - 1) * stride[d] + 1;
    const std::int64_t reach = (kernel[d] - 1) * dilation[d];
    // Windows in the padding alone touch no element of x.
    options.low.push_back(std::max<std::int64_t>(0, reach - low[d]));
    starts[a] = std::min(limits[a], std::max<std::int64_t>(0, low[d] - reach));
    const std::int64_t missing = x[a] + reach - options.low.back() - (limits[a] - starts[a]);
    limits[a] += std::min<std::int64_t>(0, missing);
    options.high.push_back(std::max<std::int64_t>(0, missing));
  }
  const Value apart = slice(pad(g, none, none, between), starts, limits, List(x.rank(), 1));
  return {reduce_window_sum(apart, options)};
}

// The whole cotangent goes to the first of the largest elements.
Values max_pool_gradient(const GradientCall& c) {
  const Shape x = c.inputs[0].shape();
  const std::size_t dims = list_of(c.attributes, "kernel").size();
  const Value indices = call1(op::max_pool_indices, {c.inputs[0]}, c.attributes);
  const Value places = as_planes(indices, dims);
  const std::int64_t plane = Shape(x.dims().subspan(x.rank() - dims)).elements();
  return {reshape(scatter_add(places, as_planes(c.cotangents[0], dims), plane, 1), x)};
}

// ---- bodies

Attributes windows_only(const Attributes& attributes) {
  Attributes result;
  for (const AttributeSpec& spec : kWindowAttributes)
    result.set(std::string(spec.name), list_of(attributes, spec.name));
  return result;
}

std::vector<Type> average_types(const Call& call) {
  std::vector<Type> types = floating_pool_types(call);
  for (const auto& [counted, padding] :
       {std::pair("counted_low", "low"), std::pair("counted_high", "high")}) {
    const List &c = list_of(call.attributes, counted), &p = list_of(call.attributes, padding);
    bool fits = c.size() == p.size();
    for (std::size_t d = 0; fits && d < c.size(); ++d) fits = c[d] >= 0 && c[d] <= p[d];
    if (!fits)
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: {} is [{}], expected 0 to {}, which is [{}]", where(call),
                              counted, fmt::join(c, ", "), padding, fmt::join(p, ", ")));
  }
  return types;
}

// Whether all elements of all windows are among `size` after the first `low` of the padding.
bool are_full(const WindowAxis& axis, std::int64_t size, std::int64_t low) {
  const WindowAxis counted{size, axis.count, axis.kernel, axis.stride, axis.dilation, low};
  return taps_of(counted, 0).count == axis.kernel &&
         taps_of(counted, axis.count - 1).count == axis.kernel;
}

// Where windows have fewer elements than their kernel, these are counted by ones in their place; at
// least 1, so that a window of nothing has the average 0.
Values average_body(std::span<const Value> in, const Attributes& attributes) {
  const Value sums = call1(op::reduce_window_sum, {in[0]}, windows_only(attributes));
  const Shape x = in[0].shape();
  if (sums.shape().elements() == 0) return {sums};
  const List &counted_low = list_of(attributes, "counted_low"),
             &counted_high = list_of(attributes, "counted_high"),
             &kernel = list_of(attributes, "kernel");
  const std::size_t dims = kernel.size(), first = x.rank() - dims;
  const Type type = in[0].type(), result = sums.type();
  const Windows w = windows_of({op::reduce_window_sum, {&type, 1}, {&result, 1}, attributes, {}});
  List ones, low = list_of(attributes, "low"), high = list_of(attributes, "high");
  bool full = true;
  double number = 1;
  for (std::size_t d = 0; d < dims; ++d) {
    ones.push_back(x[first + d] + counted_low[d] + counted_high[d]);
    low[d] -= counted_low[d];
    high[d] -= counted_high[d];
    full = full && are_full(w.axes[3 - dims + d], ones[d], low[d]);
    number *= static_cast<double>(kernel[d]);
  }
  if (full) return {sums / number};
  Attributes of_ones = windows_only(attributes);
  of_ones.set("low", low);
  of_ones.set("high", high);
  const Value one = broadcast(constant(in[0].builder(), 1, type.dtype), Shape(ones));
  return {sums / maximum(call1(op::reduce_window_sum, {one}, of_ones), 1)};
}

std::vector<Type> lp_types(const Call& call) {
  const double p = call.attributes.get<double>("p");
  if (!(p > 0) || !std::isfinite(p))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: p is {}, expected a positive number", where(call), p));
  return floating_pool_types(call);
}

// The root has no slope at 0: there the result is 0, with a gradient of 0.
Values lp_body(std::span<const Value> in, const Attributes& attributes) {
  const double p = attributes.get<double>("p");
  const Value size = abs(in[0]);
  const Value powers = p == 1 ? size : p == 2 ? in[0] * in[0] : power(size, p);
  const Value sums = call1(op::reduce_window_sum, {powers}, windows_only(attributes));
  if (p == 1) return {sums};
  const Value zero = number_like(sums, 0), none = sums == zero;
  const Value positive = select(none, number_like(sums, 1), sums);
  return {select(none, zero, p == 2 ? sqrt(positive) : power(positive, 1 / p))};
}

// ---- batching, unbatch, examples

template <const Op& op>
Values pool_batching(const BatchingCall& c) {
  return {call1(op, {c.inputs[0]}, c.attributes)};
}

ExampleResults in_kept_dimensions(const ExampleCall& c) {
  return in_leading(c, c.shape_of(0).rank() - list_of(c.call.attributes, "kernel").size());
}

std::int64_t pool_flops(const Call& call) {
  std::int64_t total = call.outputs[0].shape.elements();
  for (const std::int64_t k : list_of(call.attributes, "kernel")) total = product_or_most(total, k);
  return total;
}

Attributes window_attributes(List kernel, List stride, List dilation, List low, List high) {
  return {{"dilation", std::move(dilation)},
          {"high", std::move(high)},
          {"kernel", std::move(kernel)},
          {"low", std::move(low)},
          {"stride", std::move(stride)}};
}

std::vector<Example> window_examples() {
  std::vector<Example> examples;
  const auto add = [&](const Shape& x, Attributes attributes) {
    for (const Dtype d : {Dtype::kF32, Dtype::kF64})
      examples.push_back({{{d, x}}, attributes, -2, 2});
  };
  add({2, 3, 5, 37}, window_attributes({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
  add({3, 9, 41}, window_attributes({3, 3}, {2, 2}, {1, 1}, {1, 0}, {0, 1}));
  add({2, 4, 6}, window_attributes({2, 3}, {2, 3}, {1, 1}, {0, 0}, {0, 0}));
  add({19, 17, 18}, window_attributes({17, 18}, {1, 1}, {1, 1}, {0, 0}, {0, 0}));
  add({2, 23}, window_attributes({4}, {3}, {2}, {5}, {7}));
  add({2, 3, 4, 5}, window_attributes({2, 1, 3}, {1, 2, 2}, {1, 2, 1}, {1, 0, 0}, {0, 0, 2}));
  return examples;
}
std::vector<Example> max_pool_examples() {
  std::vector<Example> examples = window_examples();
  for (const Dtype d : {Dtype::kI32, Dtype::kI64})
    examples.push_back(
        {{{d, {2, 5, 7}}}, window_attributes({2, 2}, {1, 2}, {1, 1}, {1, 0}, {0, 1}), -2, 2, 5});
  return examples;
}
std::vector<Example> average_examples() {
  std::vector<Example> examples = window_examples();
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Attributes& attributes = examples[i].attributes;
    // Copies: what is set below moves the attributes.
    const List low = list_of(attributes, "low"), high = list_of(attributes, "high");
    const bool counted = i % 4 < 2;
    attributes.set("counted_low", counted ? low : List(low.size(), 0));
    attributes.set("counted_high", counted ? high : List(high.size(), 0));
  }
  return examples;
}
std::vector<Example> lp_examples() {
  std::vector<Example> examples = window_examples();
  for (std::size_t i = 0; i < examples.size(); ++i) {
    examples[i].low = 0.5;
    examples[i].attributes.set("p", 1 + static_cast<double>(i / 2 % 3));
  }
  return examples;
}

// ---- emitted code

std::string windows_text(const Call& call) {
  const Windows w = windows_of(call);
  std::vector<std::string> axes;
  for (const WindowAxis& a : w.axes)
    axes.push_back(fmt::format("{{{}, {}, {}, {}, {}, {}}}", a.size, a.count, a.kernel, a.stride,
                               a.dilation, a.low));
  return fmt::format("Windows{{{}, {{{{{}}}}}}}", w.planes, fmt::join(axes, ", "));
}
CppCall sum_windows_cpp(const Call& call) { return {"SumWindows{" + windows_text(call) + "}", {}}; }
CppCall max_windows_cpp(const Call& call) { return {"MaxWindows{" + windows_text(call) + "}", {}}; }
CppCall argmax_windows_cpp(const Call& call) {
  return {"ArgmaxWindows{" + windows_text(call) + "}", {}};
}

template <const Op& op>
consteval Op windowed(std::string_view name, std::string_view formula, TypeRule types,
                      Reference reference, GradientRule rule, bool smooth,
                      CppCall (*cpp)(const Call&), Onnx onnx, std::string_view accuracy,
                      std::vector<Example> (*examples)()) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = kPoolShapes,
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .attributes = kWindowAttributes,
                   .types = types,
                   .reference = reference,
                   .gradient = rule,
                   .smooth = smooth,
                   .batching = batching(pool_batching<op>),
                   .example_axis = in_kept_dimensions,
                   .flops = pool_flops,
                   .cpp = cpp_call(cpp),
                   .onnx = onnx,
                   .accuracy = accuracy,
                   .examples = examples});
}

}  // namespace

namespace op {

constinit const Op reduce_window_sum = windowed<reduce_window_sum>(
    "reduce_window_sum", "the sum over each window", floating_pool_types, sum_windows_reference,
    gradient(window_sum_gradient), kSmooth, sum_windows_cpp, {"AveragePool", 19}, kSummed,
    window_examples);
constinit const Op max_pool =
    windowed<max_pool>("max_pool", "the largest element of each window; NaN if any is NaN",
                       numeric_pool_types, max_pool_reference, gradient(max_pool_gradient), kKinked,
                       max_windows_cpp, {"MaxPool", 12}, kExact, max_pool_examples);
constinit const Op max_pool_indices = windowed<max_pool_indices>(
    "max_pool_indices",
    "the row-major index, within the pool dimensions, of the first largest element of each "
    "window, or of the first NaN",
    pool_index_types, max_pool_indices_reference,
    no_gradient("an index is an integer: its derivative is zero wherever it exists"), kKinked,
    argmax_windows_cpp, {"MaxPool", 12}, kExact, max_pool_examples);
constinit const Op avg_pool =
    complete({.name = "avg_pool",
              .formula = "the sum over each window / its number of elements; of the padding, "
                         "`counted_low` and `counted_high` count as elements",
              .shapes = kPoolShapes,
              .min_inputs = 1,
              .max_inputs = 1,
              .attributes = kAverageAttributes,
              .types = average_types,
              .body = average_body,
              .gradient = gradient_through_body(),
              .batching = batching(pool_batching<avg_pool>),
              .flops = pool_flops,
              .onnx = {"AveragePool", 19},
              .examples = average_examples});
constinit const Op lp_pool = complete({.name = "lp_pool",
                                       .formula = "(the sum of |x|^p over each window)^(1/p)",
                                       .shapes = kPoolShapes,
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .attributes = kLpAttributes,
                                       .types = lp_types,
                                       .body = lp_body,
                                       .gradient = gradient_through_body(),
                                       .smooth = kKinked,
                                       .batching = batching(pool_batching<lp_pool>),
                                       .flops = pool_flops,
                                       .onnx = {"LpPool", 18},
                                       .examples = lp_examples});

}  // namespace op

constexpr const Op* kPoolOps[] = {&op::reduce_window_sum, &op::max_pool, &op::max_pool_indices,
                                  &op::avg_pool, &op::lp_pool};
constexpr OpList pool_ops = kPoolOps;

Windows windows_of(const Call& call) {
  const List& kernel = list_of(call.attributes, "kernel");
  const Shape &x = call.inputs[0].shape, &y = call.outputs[0].shape;
  const std::size_t first = x.rank() - kernel.size();
  Windows w{Shape(x.dims().first(first)).elements(), {}};
  for (std::size_t d = 0; d < 3; ++d) {
    w.axes[d] = {1, 1, 1, 1, 1, 0};
    if (d + kernel.size() < 3) continue;
    const std::size_t i = d + kernel.size() - 3;
    w.axes[d] = {x[first + i],
                 y[first + i],
                 kernel[i],
                 list_of(call.attributes, "stride")[i],
                 list_of(call.attributes, "dilation")[i],
                 list_of(call.attributes, "low")[i]};
  }
  return w;
}

namespace {

// Numbers that are not given are these.
List numbers_or(const List& given, const List& otherwise) {
  return given.empty() ? otherwise : given;
}

Attributes attributes_of(const PoolOptions& o) {
  const std::size_t dims = o.kernel.size();
  const List low = numbers_or(o.low, List(dims, 0));
  return window_attributes(o.kernel, numbers_or(o.stride, o.kernel),
                           numbers_or(o.dilation, List(dims, 1)), low, numbers_or(o.high, low));
}

// With ceil_mode the padding after the last element grows until a last, partial window fits.
Attributes attributes_for(const Op& op, const Value& x, const PoolOptions& options) {
  Attributes attributes = attributes_of(options);
  if (!options.ceil_mode) return attributes;
  const Type type = x.type();
  const Call call{op, {&type, 1}, {}, attributes, {}};
  pool_types(call);
  List high = list_of(attributes, "high");
  const List &low = list_of(attributes, "low"), &kernel = list_of(attributes, "kernel"),
             &stride = list_of(attributes, "stride"), &dilation = list_of(attributes, "dilation");
  for (std::size_t d = 0; d < high.size(); ++d) {
    const std::int64_t size = type.shape[type.shape.rank() - high.size() + d];
    const std::int64_t slack = size + low[d] + high[d] - dilation[d] * (kernel[d] - 1) - 1;
    const std::int64_t more = slack / stride[d] + (slack % stride[d] != 0 ? 1 : 0);
    // A last window that would begin in the last padding is left out.
    if (more > 0 && more > (size + low[d] - 1) / stride[d]) continue;
    high[d] += more * stride[d] - slack;
  }
  attributes.set("high", high);
  return attributes;
}

Value pool(const Op& op, const Value& x, const PoolOptions& options) {
  return call1(op, {x}, attributes_for(op, x, options));
}

// The windows of an adaptive pooling along each axis: where they begin and end.
struct Adaptive {
  List sizes, results;  // of the pool dimensions
  std::int64_t begin(std::size_t d, std::int64_t i) const { return i * sizes[d] / results[d]; }
  std::int64_t end(std::size_t d, std::int64_t i) const {
    return ((i + 1) * sizes[d] + results[d] - 1) / results[d];
  }
};

// For each result the places of its elements in a plane, in order, each list filled up to the
// longest with `filler(places)`.
template <class F>
Tensor places_of(const Adaptive& a, const F& filler) {
  std::vector<List> windows{{0}};
  for (std::size_t d = 0; d < a.sizes.size(); ++d) {
    std::vector<List> finer;
    for (const List& window : windows)
      for (std::int64_t i = 0; i < a.results[d]; ++i) {
        finer.emplace_back();
        for (const std::int64_t place : window)
          for (std::int64_t at = a.begin(d, i); at < a.end(d, i); ++at)
            finer.back().push_back(place * a.sizes[d] + at);
      }
    windows = std::move(finer);
  }
  std::size_t longest = 0;
  for (const List& window : windows) longest = std::max(longest, window.size());
  std::vector<std::int32_t> table;
  for (const List& window : windows)
    for (std::size_t i = 0; i < longest; ++i)
      table.push_back(static_cast<std::int32_t>(i < window.size() ? window[i] : filler(window)));
  return Tensor::from({static_cast<std::int64_t>(table.size())}, table);
}

Adaptive adaptive_of(const Value& x, const List& sizes, std::string_view what) {
  if (sizes.empty() || sizes.size() > 3 || sizes.size() > x.rank())
    throw Error(ErrorCode::kShape,
                fmt::format("{}: {} sizes, expected one for each of the last 1 to 3 dimensions of "
                            "{}",
                            what, sizes.size(), to_string(x.type())));
  const Shape shape = x.shape();
  const auto last = shape.dims().last(sizes.size());
  Adaptive a{List(last.begin(), last.end()), sizes};
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < 1 || a.sizes[d] < 1)
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: a size of {} for {} elements of {}, expected 1 or more of both",
                              what, sizes[d], a.sizes[d], to_string(x.type())));
  // The places of all windows become a constant.
  std::int64_t places = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    places = product_or_most(places, product_or_most(sizes[d], a.sizes[d] / sizes[d] + 2));
  if (places > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorCode::kShape, fmt::format("{}: windows of {} have too many elements for "
                                               "results of [{}]",
                                               what, to_string(x.type()), fmt::join(sizes, ", ")));
  return a;
}

// Regular windows, where the sizes divide; nothing otherwise.
std::optional<PoolOptions> regular(const Adaptive& a) {
  PoolOptions options;
  for (std::size_t d = 0; d < a.sizes.size(); ++d) {
    if (a.sizes[d] % a.results[d] != 0) return {};
    options.kernel.push_back(a.sizes[d] / a.results[d]);
  }
  return options;
}

// The elements of all windows beside each other: (planes, results * each), and the options that
// pool them.
struct Gathered {
  Value elements;
  PoolOptions options;
  Shape shape;  // of the result
};
template <class F>
Gathered gathered(const Value& x, const Adaptive& a, const F& filler) {
  Shape shape = x.shape();
  std::int64_t results = 1;
  for (std::size_t d = 0; d < a.results.size(); ++d) {
    shape = shape.replace(shape.rank() - a.results.size() + d, a.results[d]);
    results *= a.results[d];
  }
  const Tensor places = places_of(a, filler);
  const Value elements =
      gather_along(as_planes(x, a.sizes.size()), constant(x.builder(), places), 1);
  return {elements, {.kernel = {places.elements() / results}}, shape};
}

}  // namespace

Value reduce_window_sum(Value x, const PoolOptions& options) {
  return pool(op::reduce_window_sum, x, options);
}
Value max_pool(Value x, const PoolOptions& options) { return pool(op::max_pool, x, options); }
Value max_pool_indices(Value x, const PoolOptions& options) {
  return pool(op::max_pool_indices, x, options);
}
Value avg_pool(Value x, const PoolOptions& options, bool count_include_pad) {
  Attributes attributes = attributes_for(op::avg_pool, x, options);
  const Attributes given = attributes_of(options);
  const List none(options.kernel.size(), 0);
  attributes.set("counted_low", count_include_pad ? list_of(given, "low") : none);
  attributes.set("counted_high", count_include_pad ? list_of(given, "high") : none);
  return call1(op::avg_pool, {x}, attributes);
}
Value lp_pool(Value x, double p, const PoolOptions& options) {
  Attributes attributes = attributes_for(op::lp_pool, x, options);
  attributes.set("p", p);
  return call1(op::lp_pool, {x}, attributes);
}

Value max_unpool(Value x, Value indices, const std::vector<std::int64_t>& sizes) {
  if (sizes.empty() || sizes.size() > x.rank() || !(x.shape() == indices.shape()))
    throw Error(ErrorCode::kShape,
                fmt::format("max_unpool: x is {}, indices {}, {} sizes; expected x and indices of "
                            "one shape, and a size for each of their last dimensions",
                            to_string(x.type()), to_string(indices.type()), sizes.size()));
  const Value elements = as_planes(x, sizes.size());
  Shape whole(x.shape().dims().first(x.rank() - sizes.size()));
  for (const std::int64_t size : sizes) whole = whole.insert(whole.rank(), size);
  const Value zeros = broadcast(constant(x.builder(), 0, x.dtype()), whole);
  return reshape(scatter(as_planes(zeros, sizes.size()), as_planes(indices, sizes.size()), elements,
                         ScatterMode::kReplace, 1),
                 whole);
}

Value adaptive_avg_pool(Value x, const std::vector<std::int64_t>& sizes) {
  const Adaptive a = adaptive_of(x, sizes, "adaptive_avg_pool");
  if (const auto options = regular(a)) return avg_pool(x, *options);
  // A place of no element gives +0, which does not change a sum.
  const Gathered g = gathered(x, a, [](const List&) { return std::int64_t{-1}; });
  std::vector<double> counts{1};
  for (std::size_t d = 0; d < a.sizes.size(); ++d) {
    std::vector<double> next;
    for (const double before : counts)
      for (std::int64_t i = 0; i < a.results[d]; ++i)
        next.push_back(before * static_cast<double>(a.end(d, i) - a.begin(d, i)));
    counts = std::move(next);
  }
  const Value sums = reduce_window_sum(g.elements, g.options);
  const Tensor table = Tensor::from({static_cast<std::int64_t>(counts.size())}, counts);
  return reshape(sums / cast(constant(x.builder(), table), x.dtype()), g.shape);
}

Value adaptive_max_pool(Value x, const std::vector<std::int64_t>& sizes) {
  const Adaptive a = adaptive_of(x, sizes, "adaptive_max_pool");
  if (const auto options = regular(a)) return max_pool(x, *options);
  const Gathered g = gathered(x, a, [](const List& places) { return places[0]; });
  return reshape(max_pool(g.elements, g.options), g.shape);
}

}  // namespace limpid
