#include "limpid/ops/norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "limpid/core/coefficients.h"
#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/detail/moments.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;
namespace coefficients = arithmetic::coefficients;

constexpr AttributeSpec kRowAttributes[] = {{"dims", AttributeKind::kInteger},
                                            {"eps", AttributeKind::kReal}};
constexpr AttributeSpec kGroupAttributes[] = {{"eps", AttributeKind::kReal},
                                              {"groups", AttributeKind::kInteger}};
constexpr AttributeSpec kBatchAttributes[] = {{"eps", AttributeKind::kReal},
                                              {"momentum", AttributeKind::kReal}};
constexpr AttributeSpec kEpsAttribute[] = {{"eps", AttributeKind::kReal}};

void check_eps(const Call& call) {
  const double eps = call.attributes.get<double>("eps");
  if (!(eps >= 0))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: eps is {}, expected 0 or more", where(call), eps));
}

// Inputs from `first` on have this shape and the dtype of x.
void check_shapes(const Call& call, std::size_t first, const Shape& shape) {
  for (std::size_t i = first; i < call.inputs.size(); ++i) {
    require_dtype(call, i, call.inputs[0].dtype);
    if (!(call.inputs[i].shape == shape))
      throw Error(ErrorCode::kShape, fmt::format("{}: input {} is {}, expected {} of shape {}",
                                                 where(call), i, to_string(call.inputs[i]),
                                                 name(call.inputs[0].dtype), to_string(shape)));
  }
}

// ---- layer norm and RMS norm: over rows

std::vector<Type> row_types(const Call& call) {
  require_floating(call, 0);
  check_eps(call);
  const Shape& x = call.inputs[0].shape;
  const std::int64_t dims = call.attributes.integer("dims");
  if (dims < 1 || dims > static_cast<std::int64_t>(x.rank()))
    throw Error(ErrorCode::kShape,
                fmt::format("{}: cannot normalise the last {} dimensions of {}, expected 1 to {}",
                            where(call), dims, to_string(call.inputs[0]), x.rank()));
  check_shapes(call, 1, Shape(x.dims().last(static_cast<std::size_t>(dims))));
  return {call.inputs[0]};
}

// x as rows of the elements that are normalised together.
Value as_rows(const Value& x, const Attributes& attributes) {
  const Shape shape = x.shape();
  const auto kept = shape.rank() - static_cast<std::size_t>(attributes.integer("dims"));
  return reshape(x, {Shape(shape.dims().first(kept)).elements(),
                     Shape(shape.dims().subspan(kept)).elements()});
}
Value as_row(const Value& parameter) { return reshape(parameter, {parameter.shape().elements()}); }

Value row_mean(const Value& rows) { return expand_axis(mean(rows, -1), rows.shape(), -1); }

// Rows in a unit in which their squares are neither infinite nor all 0: 1 for usual rows.
template <bool centered>
struct ScaledRows {
  ScaledRows(const Value& x, const Attributes& attributes) {
    const auto spread = [&](const Value& v) { return expand_axis(v, x.shape(), -1); };
    const Value square = about_mean(x).square;
    const Value eps = number_like(square, attributes.get<double>("eps"));
    const Value factor = unit_for_squares(square + eps);
    unit = spread(factor);
    const Rows in_unit = about_mean(x * unit);
    rows = in_unit.rows;
    scale = spread(1.0 / sqrt(in_unit.square + eps * factor * factor));
  }

  Value unit;
  Value rows;   // x unit, about its mean if `centered`
  Value scale;  // 1 / sqrt(mean of squares + eps) in that unit

 private:
  struct Rows {
    Value rows, square;
  };
  static Rows about_mean(const Value& x) {
    const auto mean_of = [](const Value& v) { return mean(v, -1); };
    if (!centered) return {x, mean_of(x * x)};
    const Moments moments =
        moments_of(x, mean_of, [&](const Value& v) { return expand_axis(v, x.shape(), -1); });
    return {moments.centred, moments.variance};
  }
};

// Rows times gamma, plus beta, where they are given, in the shape of x.
Values scaled_and_shifted(Value rows, std::span<const Value> in) {
  if (in.size() > 1) rows = rows * as_row(in[1]);
  if (in.size() > 2) rows = rows + as_row(in[2]);
  return {reshape(rows, in[0].shape())};
}

template <bool centered>
Values row_body(std::span<const Value> in, const Attributes& attributes) {
  const ScaledRows<centered> x(as_rows(in[0], attributes), attributes);
  return scaled_and_shifted(x.rows * x.scale, in);
}

template <bool centered>
CppCall row_cpp(const Call& call) {
  const Shape& x = call.inputs[0].shape;
  const auto kept = x.rank() - static_cast<std::size_t>(call.attributes.integer("dims"));
  const std::int64_t size = Shape(x.dims().subspan(kept)).elements();
  return {centered ? "norm_of_rows<true>" : "norm_of_rows<false>",
          {Shape(x.dims().first(kept)).elements(), size,
           std::bit_cast<std::int64_t>(call.attributes.get<double>("eps"))},
          std::max<std::int64_t>(1, size)};
}

// From x, g and gamma (if given) to dx and, if gamma is given, g h.
std::vector<Type> row_gradient_types(const Call& call) {
  std::vector<Type> x_and_gamma(call.inputs.begin(), call.inputs.end());
  x_and_gamma.erase(x_and_gamma.begin() + 1);
  const Type of_x = row_types({call.op, x_and_gamma, {}, call.attributes, call.scope})[0];
  require_same_types({call.op, call.inputs.first(2), {}, call.attributes, call.scope});
  if (call.inputs.size() == 2) return {of_x};
  return {of_x, of_x};
}

// With h the normalised row, s its scale and d the cotangent of h: (d - mean(d) - h mean(d h)) s,
// without mean(d) if no mean was subtracted.
template <bool centered>
Values row_gradient_body(std::span<const Value> in, const Attributes& attributes) {
  const Shape shape = in[0].shape();
  const ScaledRows<centered> x(as_rows(in[0], attributes), attributes);
  const Value h = x.rows * x.scale;
  const Value g = as_rows(in[1], attributes);
  const Value d = in.size() > 2 ? g * as_row(in[2]) : g;
  Value dx = d - h * row_mean(d * h);
  if (centered) dx = dx - row_mean(d);
  Values result{reshape(dx * x.scale * x.unit, shape)};
  if (in.size() > 2) result.push_back(reshape(g * h, shape));
  return result;
}

template <const Op& op>
Values row_gradient(const GradientCall& c) {
  Values in{c.inputs[0], c.cotangents[0]};
  if (c.inputs.size() > 1) in.push_back(c.inputs[1]);
  const Values parts = call(op, in, c.attributes);
  Values result{parts[0]};
  const auto over_rows = [&](const Value& v, std::size_t input) {
    result.push_back(reshape(sum(as_rows(v, c.attributes), 0), c.inputs[input].shape()));
  };
  if (c.inputs.size() > 1) over_rows(parts[1], 1);
  if (c.inputs.size() > 2) over_rows(c.cotangents[0], 2);
  return result;
}

// A batch is more rows, unless gamma or beta are batched too.
template <const Op& op>
Values row_batching(const BatchingCall& c) {
  Values in{batched_input(c, 0)};
  bool shared = true;
  for (std::size_t i = 1; i < c.inputs.size(); ++i) shared = shared && !c.batched[i];
  if (shared) {
    in.insert(in.end(), c.inputs.begin() + 1, c.inputs.end());
    return call(op, in, c.attributes);
  }
  Value y = call(op, in, c.attributes)[0];
  // (size, 1, ..., dims): beside the same example's rows.
  const auto beside = [&](std::size_t i) {
    Shape shape = batched_input(c, i).shape();
    while (shape.rank() < y.rank()) shape = shape.insert(1, 1);
    return reshape(batched_input(c, i), shape);
  };
  y = y * beside(1);
  if (c.inputs.size() > 2) y = y + beside(2);
  return {y};
}

// Of usual rows, whose statistics the body computes twice: operations per element, per row, and
// per element for each parameter after the first `given` inputs.
struct RowFlops {
  std::int64_t element, row, parameter;
  std::size_t given;
};
constexpr RowFlops kLayerFlops{5, 5, 1, 1}, kRmsFlops{3, 4, 1, 1};
constexpr RowFlops kLayerGradientFlops{12, 7, 2, 2}, kRmsGradientFlops{8, 5, 2, 2};

template <const RowFlops& operations>
std::int64_t row_flops(const Call& call) {
  const Shape& x = call.inputs[0].shape;
  const auto kept = x.rank() - static_cast<std::size_t>(call.attributes.integer("dims"));
  const std::int64_t rows = Shape(x.dims().first(kept)).elements();
  const auto parameters = static_cast<std::int64_t>(call.inputs.size() - operations.given);
  return sum_or_most(
      product_or_most(x.elements(), operations.element + parameters * operations.parameter),
      product_or_most(rows, operations.row));
}

std::vector<Example> row_examples_with(std::size_t most_inputs) {
  std::vector<Example> examples;
  const auto add = [&](Dtype d, const Shape& x, std::int64_t dims, std::size_t inputs) {
    std::vector<Type> types{{d, x}};
    while (types.size() < inputs)
      types.push_back({d, Shape(x.dims().last(static_cast<std::size_t>(dims)))});
    examples.push_back({types, {{"dims", dims}, {"eps", 1e-5}}});
  };
  for (Dtype d : {Dtype::kF32, Dtype::kF64})
    for (std::size_t inputs = 1; inputs <= most_inputs; ++inputs) {
      add(d, {3, 37}, 1, inputs);
      add(d, {5}, 1, inputs);
      add(d, {2, 3, 4}, 2, inputs);
    }
  add(Dtype::kF32, {2, 300}, 1, most_inputs);
  return examples;
}
std::vector<Example> layer_norm_examples() { return row_examples_with(3); }
std::vector<Example> rms_norm_examples() { return row_examples_with(2); }
// With a cotangent as the input after x.
std::vector<Example> row_gradient_examples() {
  std::vector<Example> examples = rms_norm_examples();
  for (Example& e : examples) e.inputs.insert(e.inputs.begin(), e.inputs[0]);
  return examples;
}

// ---- norms by channel: x (N, C, ...)

std::vector<Type> channel_types(const Call& call) {
  require_floating(call, 0);
  check_eps(call);
  const Shape& x = call.inputs[0].shape;
  if (x.rank() < 2)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: input is {}, expected (examples, channels, ...)", where(call),
                            to_string(call.inputs[0])));
  check_shapes(call, 1, {x[1]});
  return {call.inputs[0]};
}

// Broadcasts one value per channel to the shape of x.
Value by_channel(const Value& parameter, const Shape& x) {
  Shape shape{x[1]};
  while (shape.rank() + 1 < x.rank()) shape = shape.insert(shape.rank(), 1);
  return broadcast(reshape(parameter, shape), x);
}

std::vector<Type> group_types(const Call& call) {
  std::vector<Type> types = channel_types(call);
  const std::int64_t groups = call.attributes.integer("groups");
  const std::int64_t channels = call.inputs[0].shape[1];
  if (groups < 1 || groups > std::max<std::int64_t>(channels, 1) || channels % groups != 0)
    throw Error(ErrorCode::kShape, fmt::format("{}: {} channels do not split into {} equal groups",
                                               where(call), channels, groups));
  return types;
}

Values group_body(std::span<const Value> in, const Attributes& attributes) {
  const Shape x = in[0].shape();
  const std::int64_t rows = x[0] * attributes.integer("groups");
  const Shape grouped{rows, rows == 0 ? 0 : x.elements() / rows};
  const Value y =
      reshape(layer_norm(reshape(in[0], grouped), {}, {}, attributes.get<double>("eps")), x);
  return {y * by_channel(in[1], x) + by_channel(in[2], x)};
}

// The sum over all dimensions but the second: first over the last ones, then over the examples.
Value channel_sum(const Value& x) {
  const Shape shape = x.shape();
  if (shape.rank() == 2) return sum(x, 0);
  return sum(sum(reshape(x, {shape[0], shape[1], Shape(shape.dims().subspan(2)).elements()}), 2),
             0);
}

std::vector<Type> batch_norm_types(const Call& call) {
  const Type x = channel_types(call)[0];
  const Type channels{x.dtype, {x.shape[1]}};
  // The unbiased variance divides by the number of elements minus one.
  if (x.shape[1] != 0 && x.shape.elements() / x.shape[1] < 2)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: input is {}, expected 2 or more elements per channel in training",
                            where(call), to_string(call.inputs[0])));
  return {x, channels, channels};
}

Values batch_norm_body(std::span<const Value> in, const Attributes& attributes) {
  const Shape x = in[0].shape();
  const double momentum = attributes.get<double>("momentum");
  const double count =
      static_cast<double>(x[0]) * static_cast<double>(Shape(x.dims().subspan(2)).elements());
  const Moments moments = moments_of(
      in[0], [&](const Value& v) { return channel_sum(v) / count; },
      [&](const Value& v) { return by_channel(v, x); });
  const Value scale = 1.0 / sqrt(moments.variance + attributes.get<double>("eps"));
  const Value y =
      moments.centred * by_channel(scale, x) * by_channel(in[1], x) + by_channel(in[2], x);
  return {y, in[3] * (1 - momentum) + moments.mean * momentum,
          in[4] * (1 - momentum) + moments.variance * (count / (count - 1)) * momentum};
}

Values batch_norm_inference_body(std::span<const Value> in, const Attributes& attributes) {
  const Shape x = in[0].shape();
  const Value scale = 1.0 / sqrt(in[4] + attributes.get<double>("eps"));
  const Value centered = in[0] - by_channel(in[3], x);
  return {centered * by_channel(scale, x) * by_channel(in[1], x) + by_channel(in[2], x)};
}

std::vector<Example> channel_examples(std::size_t inputs, const Attributes& attributes,
                                      double low) {
  std::vector<Example> examples;
  for (Dtype d : {Dtype::kF32, Dtype::kF64})
    for (const Shape& x : {Shape{7, 4}, Shape{3, 2, 5}, Shape{2, 4, 3, 2}}) {
      std::vector<Type> types{{d, x}};
      while (types.size() < inputs) types.push_back({d, {x[1]}});
      examples.push_back({types, attributes, low, 2});
    }
  return examples;
}
std::vector<Example> group_examples() {
  return channel_examples(3, {{"eps", 1e-5}, {"groups", std::int64_t{2}}}, -2);
}
std::vector<Example> batch_norm_examples() {
  return channel_examples(5, {{"eps", 1e-5}, {"momentum", 0.1}}, -2);
}
// The running variance is positive.
std::vector<Example> batch_norm_inference_examples() {
  return channel_examples(5, {{"eps", 1e-5}}, 0.5);
}

constexpr std::string_view kBatchNormSource =
    "Ioffe and Szegedy, Batch Normalization (2015), algorithm 1";

// Examples among the channels are whole groups. Nothing where they are parts of groups.
std::optional<Attributes> norm_groups_for_one(const ExampleCall& c, std::span<const Type>) {
  constexpr std::size_t kChannels = 1;
  Attributes attributes = c.call.attributes;
  if (!c.inner[0] || c.axis_of(0)->axis != kChannels) return attributes;
  const std::int64_t groups = attributes.integer("groups");
  if (groups % c.size != 0) return {};
  attributes.set("groups", groups / c.size);
  return attributes;
}

}  // namespace

namespace op {

template <bool centered, const RowFlops& operations>
consteval Op norm_gradient(std::string_view name, std::string_view formula) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = "x[..., n...], g[..., n...], gamma[n...] -> dx[..., n...], and with "
                             "gamma also g h[..., n...]",
                   .min_inputs = 2,
                   .max_inputs = 3,
                   .attributes = kRowAttributes,
                   .types = row_gradient_types,
                   .body = row_gradient_body<centered>,
                   .gradient = gradient_through_body(),
                   .batching = batching_through_body(),
                   .flops = row_flops<operations>,
                   .onnx = {},
                   .examples = row_gradient_examples});
}
constinit const Op layer_norm_gradient = norm_gradient<true, kLayerGradientFlops>(
    "layer_norm_gradient",
    "(d - mean(d) - h mean(d h)) / sqrt(variance + eps), d = g gamma, h the normalised x; g h");
constinit const Op rms_norm_gradient = norm_gradient<false, kRmsGradientFlops>(
    "rms_norm_gradient",
    "(d - h mean(d h)) / sqrt(mean of x^2 + eps), d = g gamma, h the "
    "normalised x; g h");

constinit const Op layer_norm =
    complete({.name = "layer_norm",
              .formula = "(x - mean) / sqrt(variance + eps) * gamma + beta",
              .shapes = "x[..., n...], gamma[n...], beta[n...] -> [..., n...]; n are the last "
                        "`dims` dimensions",
              .role = Role::kNorm,
              .min_inputs = 1,
              .max_inputs = 3,
              .attributes = kRowAttributes,
              .types = row_types,
              .body = row_body<true>,
              .gradient = gradient(row_gradient<layer_norm_gradient>),
              .batching = batching(row_batching<layer_norm>),
              .flops = row_flops<kLayerFlops>,
              .cpp = cpp_call(row_cpp<true>),
              .onnx = {"LayerNormalization", 17},
              .source = "Ba et al., Layer Normalization (2016), equation 3",
              .examples = layer_norm_examples});

constinit const Op rms_norm = complete(
    {.name = "rms_norm",
     .formula = "x / sqrt(mean of x^2 + eps) * gamma",
     .shapes = "x[..., n...], gamma[n...] -> [..., n...]; n are the last `dims` dimensions",
     .role = Role::kNorm,
     .min_inputs = 1,
     .max_inputs = 2,
     .attributes = kRowAttributes,
     .types = row_types,
     .body = row_body<false>,
     .gradient = gradient(row_gradient<rms_norm_gradient>),
     .batching = batching(row_batching<rms_norm>),
     .flops = row_flops<kRmsFlops>,
     .cpp = cpp_call(row_cpp<false>),
     .onnx = {"RMSNormalization", 23},
     .source = "Zhang and Sennrich, Root Mean Square Layer Normalization (2019), equation 4",
     .examples = rms_norm_examples});

constinit const Op group_norm =
    complete({.name = "group_norm",
              .formula = "layer_norm of each group of channels, times gamma, plus beta, by channel",
              .shapes = "x[N, C, ...], gamma[C], beta[C] -> [N, C, ...]",
              .min_inputs = 3,
              .max_inputs = 3,
              .attributes = kGroupAttributes,
              .types = group_types,
              .body = group_body,
              .gradient = gradient_through_body(),
              .batching = batching_through_body(),
              .example_attributes = norm_groups_for_one,
              .flops = flops_of_body,
              .onnx = {"GroupNormalization", 21},
              .source = "Wu and He, Group Normalization (2018)",
              .examples = group_examples});

constinit const Op batch_norm =
    complete({.name = "batch_norm",
              .formula = "(x - mean) / sqrt(variance + eps) * gamma + beta by channel; new running "
                         "statistics (1 - momentum) old + momentum new",
              .shapes = "x[N, C, ...], gamma[C], beta[C], running_mean[C], running_var[C] -> "
                        "[N, C, ...], [C], [C]",
              .min_inputs = 5,
              .max_inputs = 5,
              .attributes = kBatchAttributes,
              .types = batch_norm_types,
              .body = batch_norm_body,
              .gradient = gradient_through_body(),
              .batching = batching_through_body(),
              .flops = flops_of_body,
              .onnx = {"BatchNormalization", 15},
              .source = kBatchNormSource,
              .examples = batch_norm_examples});

constinit const Op batch_norm_inference =
    complete({.name = "batch_norm_inference",
              .formula = "(x - running_mean) / sqrt(running_var + eps) * gamma + beta by channel",
              .shapes = "x[N, C, ...], gamma[C], beta[C], running_mean[C], running_var[C] -> "
                        "[N, C, ...]",
              .min_inputs = 5,
              .max_inputs = 5,
              .attributes = kEpsAttribute,
              .types = channel_types,
              .body = batch_norm_inference_body,
              .gradient = gradient_through_body(),
              .batching = batching_through_body(),
              .flops = flops_of_body,
              .onnx = {"BatchNormalization", 15},
              .source = kBatchNormSource,
              .examples = batch_norm_inference_examples});

}  // namespace op

constexpr const Op* kNormOps[] = {
    &op::layer_norm,          &op::layer_norm_gradient, &op::rms_norm,
    &op::rms_norm_gradient,   &op::group_norm,          &op::batch_norm,
    &op::batch_norm_inference};
constexpr OpList norm_ops = kNormOps;

namespace {

Value row_norm(const Op& op, const Value& x, const Value& gamma, const Value& beta, double eps) {
  Values in{x};
  if (gamma) in.push_back(gamma);
  if (beta) in.push_back(beta);
  const std::int64_t dims = gamma ? static_cast<std::int64_t>(gamma.rank()) : 1;
  return call(op, in, {{"dims", dims}, {"eps", eps}})[0];
}

}  // namespace

Value unit_for_squares(Value squares) {
  const auto number = [&](double n) { return number_like(squares, n); };
  const double small =
      squares.dtype() == Dtype::kF32 ? coefficients::kNormUnit : coefficients::kWideNormUnit;
  const Value of_finite = select(squares == number(0), number(1 / small), number(1));
  return select(squares < number(std::numeric_limits<double>::infinity()), of_finite,
                number(small));
}

Value layer_norm(Value x, Value gamma, Value beta, double eps) {
  if (beta && !gamma)
    throw Error(ErrorCode::kInvalidArgument, "layer_norm: got beta without gamma");
  return row_norm(op::layer_norm, x, gamma, beta, eps);
}

Value rms_norm(Value x, Value gamma, double eps) {
  return row_norm(op::rms_norm, x, gamma, {}, eps);
}

Value group_norm(Value x, std::int64_t groups, Value gamma, Value beta, double eps) {
  return call1(op::group_norm, {x, gamma, beta}, {{"eps", eps}, {"groups", groups}});
}

BatchNormResult batch_norm(Value x, Value gamma, Value beta, Value running_mean, Value running_var,
                           double momentum, double eps) {
  const Value in[] = {x, gamma, beta, running_mean, running_var};
  const Values out = call(op::batch_norm, in, {{"eps", eps}, {"momentum", momentum}});
  return {out[0], out[1], out[2]};
}

Value batch_norm_inference(Value x, Value gamma, Value beta, Value running_mean, Value running_var,
                           double eps) {
  return call1(op::batch_norm_inference, {x, gamma, beta, running_mean, running_var},
               {{"eps", eps}});
}

}  // namespace limpid
