#include "limpid/ops/activation.h"

#include "limpid/ops/arithmetic.h"
#include "limpid/ops/families.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kSlopeAttribute[] = {{"slope", AttributeKind::kReal}};

Values relu_body(std::span<const Value> in, const Attributes&) {
  return {maximum(in[0], number_like(in[0], 0))};
}

// By the result, which is positive where the input is: the input need not be kept for it.
Values relu_gradient(const GradientCall& c) {
  const Value zero = number_like(c.outputs[0], 0);
  return {select(c.outputs[0] > zero, c.cotangents[0], zero)};
}

Values leaky_relu_body(std::span<const Value> in, const Attributes& attributes) {
  const Value scaled = in[0] * attributes.get<double>("slope");
  return {select(in[0] > number_like(in[0], 0), in[0], scaled)};
}

Values gelu_body(std::span<const Value> in, const Attributes&) {
  constexpr double kRootHalf = 0.70710678118654752;
  return {in[0] * 0.5 * (1.0 + erf(in[0] * kRootHalf))};
}

Values silu_body(std::span<const Value> in, const Attributes&) { return {in[0] * sigmoid(in[0])}; }

std::vector<Example> leaky_examples() {
  std::vector<Example> examples = unary_examples();
  for (Example& e : examples) e.attributes = {{"slope", 0.01}};
  return examples;
}

template <const Op& op>
consteval Op activation(std::string_view name, std::string_view formula, Body body,
                        GradientRule rule, bool smooth, Kernel kernel, Onnx onnx,
                        std::string_view source = {},
                        std::span<const AttributeSpec> attributes = kNoAttributes,
                        std::vector<Example> (*examples)() = unary_examples) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = kElementwiseShapes,
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .attributes = attributes,
                   .types = floating_elementwise,
                   .body = body,
                   .gradient = rule,
                   .smooth = smooth,
                   .batching = batching(batch_elementwise<op>),
                   .flops = flops_of_body,
                   .kernel = kernel,
                   .onnx = onnx,
                   .source = source,
                   .examples = examples});
}

}  // namespace

namespace op {

constexpr Op relu = activation<relu>("relu", "max(x, 0)", relu_body, gradient(relu_gradient), false,
                                     element_kernel(kernels::Element::kRelu), {"Relu", 14});
constexpr Op leaky_relu = activation<leaky_relu>(
    "leaky_relu", "x where x > 0, else slope x", leaky_relu_body, gradient_through_body(), false,
    {}, {"LeakyRelu", 16}, "Maas et al., Rectifier Nonlinearities (2013)", kSlopeAttribute,
    leaky_examples);
constexpr Op gelu = activation<gelu>("gelu", "x / 2 (1 + erf(x / sqrt 2))", gelu_body,
                                     gradient_through_body(), true, {}, {"Gelu", 20},
                                     "Hendrycks and Gimpel, Gaussian Error Linear Units (2016)");
constexpr Op silu = activation<silu>(
    "silu", "x sigmoid(x)", silu_body, gradient_through_body(), true, {}, {"Swish", 24},
    "Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2");

}  // namespace op

Value relu(Value x) { return call1(op::relu, {x}); }
Value leaky_relu(Value x, double slope) { return call1(op::leaky_relu, {x}, {{"slope", slope}}); }
Value gelu(Value x) { return call1(op::gelu, {x}); }
Value silu(Value x) { return call1(op::silu, {x}); }

}  // namespace limpid
