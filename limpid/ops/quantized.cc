#include "limpid/ops/quantized.h"

#include <fmt/format.h>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

std::vector<Type> quantized_linear_types(const Call& call) {
  require_dtype(call, 0, Dtype::kF32);
  require_dtype(call, 1, Dtype::kI8);
  const Shape& x = call.inputs[0].shape;
  const Shape& w = call.inputs[1].shape;
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::kShape, fmt::format("{}: {}", where(call), what));
  };
  if (w.rank() != 2)
    fail(fmt::format("weight is {}, expected (out, in)", to_string(call.inputs[1])));
  constexpr auto kMost = static_cast<std::int64_t>(arithmetic::kMostI8Terms);
  if (w[1] < 1 || w[1] > kMost)
    fail(fmt::format("weight has {} features, expected 1 to {}", w[1], kMost));
  if (x.rank() == 0 || x.back() != w[1])
    fail(fmt::format("input is {}, weight expects {} features", to_string(call.inputs[0]), w[1]));
  for (std::size_t i = 2; i < call.inputs.size(); ++i) {
    require_dtype(call, i, Dtype::kF32);
    if (!(call.inputs[i].shape == Shape{w[0]}))
      fail(fmt::format("{} has shape {}, expected [{}]", i == 2 ? "scale" : "bias",
                       to_string(call.inputs[i].shape), w[0]));
  }
  return {{Dtype::kF32, x.replace(x.rank() - 1, w[0])}};
}

// x (..., rows, in), weight (..., out, in), per-column operands (..., 1, out).
Value product_of_codes(const Value& x, const Value& weight, const Value& scale, const Value& bias) {
  const QuantizedRows rows = quantize_rows(x);
  const Value sums = cast(matmul(rows.codes, weight, false, true), Dtype::kF32);
  const Value both = rows.scale * scale;
  return bias ? sums * both + bias : sums * both;
}

Values quantized_linear_body(std::span<const Value> in, const Attributes&) {
  const Shape& x = in[0].shape();
  const std::int64_t rows = x.erase(x.rank() - 1).elements();
  const std::int64_t out = in[1].shape()[0];
  const auto row = [&](const Value& v) { return reshape(v, {1, out}); };
  const Value y = product_of_codes(reshape(in[0], {rows, x.back()}), in[1], row(in[2]),
                                   in.size() == 4 ? row(in[3]) : Value());
  return {reshape(y, x.replace(x.rank() - 1, out))};
}

Values quantized_linear_batching(const BatchingCall& c) {
  bool only_x = true;
  for (std::size_t i = 1; i < c.inputs.size(); ++i) only_x = only_x && !c.batched[i];
  // If only x is batched, that is one more leading dimension, which the op accepts.
  if (only_x) return call(op::quantized_linear, c.inputs);
  Values in;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) in.push_back(batched_input(c, i));
  const Shape& x = in[0].shape();
  const std::int64_t rows = Shape(x.dims().subspan(1, x.rank() - 2)).elements();
  const std::int64_t out = in[1].shape()[1];
  const auto row = [&](const Value& v) { return reshape(v, {c.size, 1, out}); };
  const Value y = product_of_codes(reshape(in[0], {c.size, rows, x.back()}), in[1], row(in[2]),
                                   in.size() == 4 ? row(in[3]) : Value());
  return {reshape(y, x.replace(x.rank() - 1, out))};
}

std::vector<Example> quantized_linear_examples() {
  std::vector<Example> examples;
  for (const Shape& leading : {Shape{}, Shape{3}, Shape{2, 3}}) {
    const Shape x = leading.insert(leading.rank(), 7);
    const Type weight{Dtype::kI8, {17, 7}};
    const Type column{Dtype::kF32, {17}};
    examples.push_back({{{Dtype::kF32, x}, weight, column, column}, {}, -2, 2, 256});
    examples.push_back({{{Dtype::kF32, x}, weight, column}, {}, -2, 2, 256});
  }
  examples.push_back(
      {{{Dtype::kF32, {2, 130}}, {Dtype::kI8, {40, 130}}, {Dtype::kF32, {40}}}, {}, -2, 2, 256});
  return examples;
}

}  // namespace

QuantizedRows quantize_rows(Value x) {
  const Shape& shape = x.shape();
  const Value largest = reshape(max(abs(x), -1), shape.replace(shape.rank() - 1, 1));
  const Value whole = round(x * (127.0 / largest));
  const Value above = maximum(whole, number_like(whole, -127));
  const Value codes = cast(minimum(above, number_like(whole, 127)), Dtype::kI8);
  return {codes, largest / 127.0};
}

namespace op {

constinit const Op quantized_linear = complete(
    {.name = "quantized_linear",
     .formula = "x (scale weight)^T + bias; rows of x rounded to 127ths of their largest magnitude",
     .shapes = "x[..., in], weight[out, in], scale[out], bias[out] -> [..., out]",
     .min_inputs = 3,
     .max_inputs = 4,
     .attributes = kNoAttributes,
     .types = quantized_linear_types,
     .body = quantized_linear_body,
     .gradient =
         no_gradient("rounding to integers is a step function: its derivative is zero wherever it "
                     "exists; differentiate the Function before it is quantised"),
     .smooth = false,
     .batching = batching(quantized_linear_batching),
     .flops = flops_of_body,
     .onnx = {},
     .source = "Jacob et al. 2018, section 2.1; per row and per channel as Dettmers et al. 2022 "
               "(LLM.int8()), section 3.1",
     .examples = quantized_linear_examples});

}  // namespace op

constexpr const Op* kQuantizedOps[] = {&op::quantized_linear};
constexpr OpList quantized_ops = kQuantizedOps;

Value quantized_linear(Value x, Value weight, Value scale, Value bias) {
  return bias ? call1(op::quantized_linear, {x, weight, scale, bias})
              : call1(op::quantized_linear, {x, weight, scale});
}

}  // namespace limpid
