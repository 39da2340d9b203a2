#include "limpid/ops/activation.h"

#include <fmt/format.h>

#include <limits>

#include "limpid/core/coefficients.h"
#include "limpid/core/error.h"
#include "limpid/kernels/kernels.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;
using arithmetic::coefficients::kGeluCubic, arithmetic::coefficients::kOneOverRootTwoPi,
    arithmetic::coefficients::kTwiceRootTwoOverPi;

constexpr AttributeSpec kSlopeAttribute[] = {{"slope", AttributeKind::kReal}};
constexpr AttributeSpec kAlphaAttribute[] = {{"alpha", AttributeKind::kReal}};
constexpr AttributeSpec kClampAttributes[] = {{"high", AttributeKind::kReal},
                                              {"low", AttributeKind::kReal}};

Value zero_like(const Value& x) { return number_like(x, 0); }
Value positive(const Value& x) { return x > zero_like(x); }

Values relu_body(std::span<const Value> in, const Attributes&) {
  return {maximum(in[0], number_like(in[0], 0))};
}

// Uses the result, which is positive where the input is, so that the input need not be kept.
Values relu_gradient(const GradientCall& c) {
  const Value zero = number_like(c.outputs[0], 0);
  return {select(c.outputs[0] > zero, c.cotangents[0], zero)};
}

Values leaky_relu_body(std::span<const Value> in, const Attributes& attributes) {
  const Value scaled = in[0] * attributes.get<double>("slope");
  return {select(in[0] > number_like(in[0], 0), in[0], scaled)};
}

Values prelu_body(std::span<const Value> in, const Attributes&) {
  return {select(positive(in[0]), in[0], in[1] * in[0])};
}

// Not through the body: 0 times an infinite x would be NaN.
Values prelu_gradient(const GradientCall& c) {
  const Value &x = c.inputs[0], &g = c.cotangents[0];
  const Value zero = zero_like(x), linear = positive(x);
  const Value slopes_own = select(linear, zero, g);
  return {select(linear, g, g * c.inputs[1]), slopes_own * select(linear, zero, x)};
}

// ---- exponential

// x is clamped first: select would discard the exponential of a large x, but its derivative, inf
// times 0, would be NaN.
Value exponential_unit(const Value& x, double alpha) {
  return select(positive(x), x, expm1(minimum(x, zero_like(x))) * alpha);
}

std::vector<Type> elu_types(const Call& call) {
  const double alpha = call.attributes.get<double>("alpha");
  if (!(alpha > 0))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected a positive alpha, got {}", where(call), alpha));
  return floating_elementwise(call);
}

Values elu_body(std::span<const Value> in, const Attributes& attributes) {
  return {exponential_unit(in[0], attributes.get<double>("alpha"))};
}

// From the result y: scale where y is positive, else y + scale * alpha.
Values exponential_gradient(const GradientCall& c, double scale, double alpha) {
  const Value& y = c.outputs[0];
  return {c.cotangents[0] * select(positive(y), number_like(y, scale), y + scale * alpha)};
}
Values elu_gradient(const GradientCall& c) {
  return exponential_gradient(c, 1, c.attributes.get<double>("alpha"));
}

constexpr double kSeluScale = 1.0507009873554805;
constexpr double kSeluAlpha = 1.6732632423543772;

Values selu_body(std::span<const Value> in, const Attributes&) {
  return {exponential_unit(in[0], kSeluAlpha) * kSeluScale};
}
Values selu_gradient(const GradientCall& c) {
  return exponential_gradient(c, kSeluScale, kSeluAlpha);
}

// ---- smooth

// The least finite number in place of -infinity: times a factor that vanishes it is 0, not NaN.
Value least_finite(const Value& x) {
  return maximum(x,
                 number_like(x, x.dtype() == Dtype::kF32 ? std::numeric_limits<float>::lowest()
                                                         : std::numeric_limits<double>::lowest()));
}
// For a factor that is 0 beyond these bounds, whatever the dtype.
Value clamped(const Value& x) { return clamp(x, -1000, 1000); }

Values gelu_body(std::span<const Value> in, const Attributes&) {
  return {least_finite(in[0]) * ndtr(in[0])};
}

Values gelu_gradient_rule(const GradientCall& c) {
  return {call1(op::gelu_gradient, {c.inputs[0], c.cotangents[0]})};
}

Values gelu_gradient_body(std::span<const Value> in, const Attributes&) {
  const Value& g = in[1];
  const Value x = clamped(in[0]);
  return {g * (ndtr(in[0]) + x * (exp(x * x * -0.5) * kOneOverRootTwoPi))};
}

// x sigmoid(z), with fewer roundings than the product has. x is finite where sigmoid(z) is 0.
Value times_sigmoid(const Value& x, const Value& z) { return x / (exp(-z) + 1.0); }

// 2 u
Value gelu_tanh_argument(const Value& x) {
  return (x + x * x * x * kGeluCubic) * kTwiceRootTwoOverPi;
}

Values gelu_tanh_body(std::span<const Value> in, const Attributes&) {
  return {times_sigmoid(least_finite(in[0]), gelu_tanh_argument(in[0]))};
}

// s + x s (1 - s) (2 u)'. Where s is 0 or 1, a larger x is replaced by 30, so that neither it nor
// its square is infinite.
Values gelu_tanh_gradient(const GradientCall& c) {
  const Value& x = c.inputs[0];
  const Value near = clamp(x, -30, 30);
  const Value s = sigmoid(gelu_tanh_argument(near));
  const Value slope = (near * near * (3 * kGeluCubic) + 1.0) * kTwiceRootTwoOverPi;
  return {c.cotangents[0] * (s + near * (s * (1.0 - s)) * slope)};
}

Values silu_body(std::span<const Value> in, const Attributes&) {
  return {times_sigmoid(least_finite(in[0]), in[0])};
}

Value swish_argument(const Value& x, const Attributes& attributes) {
  const double beta = attributes.get<double>("beta");
  return beta == 0 ? zero_like(x) : x * beta;
}
Values swish_body(std::span<const Value> in, const Attributes& attributes) {
  const Value& x = in[0];
  const double beta = attributes.get<double>("beta");
  const Value bounded = beta > 0 ? least_finite(x) : beta < 0 ? -least_finite(-x) : x;
  return {times_sigmoid(bounded, swish_argument(x, attributes))};
}

// With z = beta x: s + z s (1 - s). Not through the body, where s of 0 is 1 / (infinity).
Values sigmoid_unit_gradient(const GradientCall& c, const Value& z) {
  const Value s = sigmoid(z);
  return {c.cotangents[0] * (s + clamped(z) * (s * (1.0 - s)))};
}
Values silu_gradient(const GradientCall& c) { return sigmoid_unit_gradient(c, c.inputs[0]); }
Values swish_gradient(const GradientCall& c) {
  return sigmoid_unit_gradient(c, swish_argument(c.inputs[0], c.attributes));
}

Values mish_body(std::span<const Value> in, const Attributes&) {
  return {least_finite(in[0]) * tanh(softplus(in[0]))};
}

// t + x (1 - t^2) sigmoid(x)
Values mish_gradient(const GradientCall& c) {
  const Value &x = c.inputs[0], &g = c.cotangents[0];
  const Value t = tanh(softplus(x));
  const Value direct = g * t;
  return {direct + g * clamped(x) * (1.0 - t * t) * sigmoid(x)};
}

Values softplus_body(std::span<const Value> in, const Attributes&) {
  return {maximum(in[0], zero_like(in[0])) + log1p(exp(-abs(in[0])))};
}
Values softplus_gradient(const GradientCall& c) { return {c.cotangents[0] * sigmoid(c.inputs[0])}; }

// ---- hard

std::vector<Type> clamp_types(const Call& call) {
  const double low = call.attributes.get<double>("low");
  const double high = call.attributes.get<double>("high");
  if (!(low <= high))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected low <= high, got {} and {}", where(call), low, high));
  return floating_elementwise(call);
}

Values clamp_body(std::span<const Value> in, const Attributes& attributes) {
  const Value raised = maximum(in[0], number_like(in[0], attributes.get<double>("low")));
  return {minimum(raised, number_like(raised, attributes.get<double>("high")))};
}

// g where low < y < high.
Value where_between(const Value& y, double low, double high, const Value& g) {
  const Value zero = zero_like(g);
  return select(y > number_like(y, low), select(y < number_like(y, high), g, zero), zero);
}

Values clamp_gradient(const GradientCall& c) {
  return {where_between(c.outputs[0], c.attributes.get<double>("low"),
                        c.attributes.get<double>("high"), c.cotangents[0])};
}

Values hard_sigmoid_body(std::span<const Value> in, const Attributes&) {
  return {clamp(in[0] + 3.0, 0, 6) / 6.0};
}
Values hard_sigmoid_gradient(const GradientCall& c) {
  return {where_between(c.outputs[0], 0, 1, c.cotangents[0] / 6.0)};
}

Values hard_swish_body(std::span<const Value> in, const Attributes&) {
  return {least_finite(in[0]) * hard_sigmoid(in[0])};
}
Values hard_swish_gradient(const GradientCall& c) {
  const Value& x = c.inputs[0];
  const Value line = x / 3.0 + 0.5;
  const Value slope = select(x < number_like(x, 3), line, number_like(x, 1));
  return {c.cotangents[0] * select(x < number_like(x, -3), zero_like(x), slope)};
}

Values step_body(std::span<const Value> in, const Attributes&) {
  const Value& x = in[0];
  return {select(x == x, cast(positive(x), x.dtype()), x)};
}

// ---- gates

template <Value (*activation)(Value)>
Values gate_body(std::span<const Value> in, const Attributes&) {
  return {activation(in[0]) * in[1]};
}

// ---- examples

std::vector<Example> with_attributes(std::vector<Example> examples, const Attributes& attributes) {
  for (Example& e : examples) e.attributes = attributes;
  return examples;
}
std::vector<Example> elu_examples() { return with_attributes(unary_examples(), {{"alpha", 0.75}}); }
std::vector<Example> swish_examples() { return with_attributes(unary_examples(), {{"beta", 1.5}}); }
std::vector<Example> clamp_examples() {
  return with_attributes(unary_examples(), {{"low", -0.5}, {"high", 1.25}});
}
std::vector<Example> steep_examples() {
  std::vector<Example> examples = unary_examples();
  for (Example& e : examples) {
    e.low = -5;
    e.high = 5;
  }
  return examples;
}

std::vector<Example> leaky_examples() {
  return with_attributes(unary_examples(), {{"slope", 0.01}});
}

struct ActivationExtras {
  Onnx onnx = {};
  std::string_view source = {};
  std::span<const AttributeSpec> attributes = kNoAttributes;
  TypeRule types = floating_elementwise;
  std::vector<Example> (*examples)() = unary_examples;
  Kernel kernel = {};
  int inputs = 1;
};

template <const Op& op>
consteval Op activation(std::string_view name, std::string_view formula, Body body,
                        GradientRule rule, bool smooth, const ActivationExtras& extras) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = kElementwiseShapes,
                   .elementwise = true,
                   .min_inputs = extras.inputs,
                   .max_inputs = extras.inputs,
                   .attributes = extras.attributes,
                   .types = extras.types,
                   .body = body,
                   .gradient = rule,
                   .smooth = smooth,
                   .batching = batching(batch_elementwise<op>),
                   .flops = flops_of_body,
                   .kernel = extras.kernel,
                   .onnx = extras.onnx,
                   .source = extras.source,
                   .examples = extras.examples});
}

constexpr std::string_view kGelu = "Hendrycks and Gimpel, Gaussian Error Linear Units (2016)";
constexpr std::string_view kGates = "Shazeer, GLU Variants Improve Transformer (2020)";
constexpr std::string_view kMobile = "Howard et al., Searching for MobileNetV3 (2019), section 5.2";

}  // namespace

namespace op {

constinit const Op relu = activation<relu>(
    "relu", "max(x, 0)", relu_body, gradient(relu_gradient), kKinked,
    {.onnx = onnx_node("Relu", 14, 6), .kernel = element_kernel(kernels::Element::kRelu)});
constinit const Op leaky_relu = activation<leaky_relu>(
    "leaky_relu", "x where x > 0, else slope x", leaky_relu_body, gradient_through_body(), kKinked,
    {.onnx = {"LeakyRelu", 16},
     .source = "Maas et al., Rectifier Nonlinearities (2013)",
     .attributes = kSlopeAttribute,
     .examples = leaky_examples});
constinit const Op prelu = activation<prelu>(
    "prelu", "x where x > 0, else slope x", prelu_body, gradient(prelu_gradient), kKinked,
    {.onnx = {"PRelu", 16},
     .source = "He et al., Delving Deep into Rectifiers (2015), equation 1",
     .examples = binary_examples,
     .inputs = 2});
constinit const Op elu = activation<elu>(
    "elu", "x where x > 0, else alpha (e^x - 1)", elu_body, gradient(elu_gradient), kKinked,
    {.onnx = {"Elu", 6},
     .source = "Clevert et al., Exponential Linear Units (2016), equation 15",
     .attributes = kAlphaAttribute,
     .types = elu_types,
     .examples = elu_examples});
constinit const Op selu = activation<selu>(
    "selu", "1.0507 x where x > 0, else 1.0507 1.6733 (e^x - 1)", selu_body,
    gradient(selu_gradient), kKinked,
    {.onnx = {"Selu", 6},
     .source = "Klambauer et al., Self-Normalizing Neural Networks (2017), equation 2"});

constinit const Op gelu = activation<gelu>(
    "gelu", "x ndtr(x) = x / 2 (1 + erf(x / sqrt 2))", gelu_body, gradient(gelu_gradient_rule),
    kSmooth,
    {.onnx = {"Gelu", 20}, .source = kGelu, .kernel = element_kernel(kernels::Element::kGelu)});
constinit const Op gelu_gradient =
    activation<gelu_gradient>("gelu_gradient", "g times the derivative of gelu at x",
                              gelu_gradient_body, gradient_through_body(), kSmooth,
                              {.examples = binary_examples,
                               .kernel = element_kernel(kernels::Element::kGeluGradient),
                               .inputs = 2});
constinit const Op gelu_tanh =
    activation<gelu_tanh>("gelu_tanh", "x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))",
                          gelu_tanh_body, gradient(gelu_tanh_gradient), kSmooth,
                          {.source = kGelu, .kernel = element_kernel(kernels::Element::kGeluTanh)});
constinit const Op silu = activation<silu>(
    "silu", "x sigmoid(x)", silu_body, gradient(silu_gradient), kSmooth,
    {.onnx = {"Swish", 24},
     .source = "Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2",
     .kernel = element_kernel(kernels::Element::kSilu)});
constinit const Op swish = activation<swish>(
    "swish", "x sigmoid(beta x)", swish_body, gradient(swish_gradient), kSmooth,
    {.source = "Ramachandran, Zoph, Le, Searching for Activation Functions (2017)",
     .attributes = kBetaAttribute,
     .examples = swish_examples});
constinit const Op mish = activation<mish>(
    "mish", "x tanh(log(1 + e^x))", mish_body, gradient(mish_gradient), kSmooth,
    {.onnx = onnx_node("Mish", 18),
     .source = "Misra, Mish: A Self Regularized Non-Monotonic Activation Function (2020)"});
constinit const Op softplus = activation<softplus>(
    "softplus", "log(1 + e^x)", softplus_body, gradient(softplus_gradient), kSmooth,
    {.onnx = onnx_node("Softplus", 1),
     .source = "Dugas et al., Incorporating Second-Order Knowledge (2001)"});

constinit const Op clamp = activation<clamp>(
    "clamp", "min(max(x, low), high)", clamp_body, gradient(clamp_gradient), kKinked,
    {.attributes = kClampAttributes, .types = clamp_types, .examples = clamp_examples});
constinit const Op hard_sigmoid = activation<hard_sigmoid>(
    "hard_sigmoid", "min(max(x + 3, 0), 6) / 6", hard_sigmoid_body, gradient(hard_sigmoid_gradient),
    kKinked, {.source = kMobile, .examples = steep_examples});
constinit const Op hard_swish = activation<hard_swish>(
    "hard_swish", "x min(max(x + 3, 0), 6) / 6", hard_swish_body, gradient(hard_swish_gradient),
    kKinked, {.onnx = onnx_node("HardSwish", 14), .source = kMobile, .examples = steep_examples});
constinit const Op step =
    activation<step>("step", "1 where x > 0, else 0", step_body,
                     no_gradient("a step function: its derivative is zero wherever it exists"),
                     kKinked, {.source = "Rosenblatt, The Perceptron (1958)"});

constinit const Op glu = activation<glu>(
    "glu", "sigmoid(gate) value", gate_body<limpid::sigmoid>, gradient_through_body(), kSmooth,
    {.source = "Dauphin et al., Language Modeling with Gated Convolutional Networks (2017)",
     .examples = binary_examples,
     .inputs = 2});
constinit const Op swiglu = activation<swiglu>(
    "swiglu", "silu(gate) value", gate_body<limpid::silu>, gradient_through_body(), kSmooth,
    {.source = kGates, .examples = binary_examples, .inputs = 2});
constinit const Op geglu =
    activation<geglu>("geglu", "gelu(gate) value", gate_body<limpid::gelu>, gradient_through_body(),
                      kSmooth, {.source = kGates, .examples = binary_examples, .inputs = 2});

}  // namespace op

constexpr const Op* kActivationOps[] = {
    &op::relu, &op::leaky_relu,    &op::prelu,     &op::elu,          &op::selu,
    &op::gelu, &op::gelu_gradient, &op::gelu_tanh, &op::silu,         &op::swish,
    &op::mish, &op::softplus,      &op::clamp,     &op::hard_sigmoid, &op::hard_swish,
    &op::step, &op::glu,           &op::swiglu,    &op::geglu};
constexpr OpList activation_ops = kActivationOps;

Value relu(Value x) { return call1(op::relu, {x}); }
Value leaky_relu(Value x, double slope) { return call1(op::leaky_relu, {x}, {{"slope", slope}}); }
Value prelu(Value x, Value slope) { return call1(op::prelu, {x, broadcast(slope, x.shape())}); }
Value elu(Value x, double alpha) { return call1(op::elu, {x}, {{"alpha", alpha}}); }
Value selu(Value x) { return call1(op::selu, {x}); }
Value gelu(Value x) { return call1(op::gelu, {x}); }
Value gelu_tanh(Value x) { return call1(op::gelu_tanh, {x}); }
Value silu(Value x) { return call1(op::silu, {x}); }
Value swish(Value x, double beta) { return call1(op::swish, {x}, {{"beta", beta}}); }
Value mish(Value x) { return call1(op::mish, {x}); }
Value softplus(Value x) { return call1(op::softplus, {x}); }
Value clamp(Value x, double low, double high) {
  return call1(op::clamp, {x}, {{"high", high}, {"low", low}});
}
Value relu6(Value x) { return clamp(x, 0, 6); }
Value hard_tanh(Value x) { return clamp(x, -1, 1); }
Value hard_sigmoid(Value x) { return call1(op::hard_sigmoid, {x}); }
Value hard_swish(Value x) { return call1(op::hard_swish, {x}); }
Value step(Value x) { return call1(op::step, {x}); }
Value glu(Value gate, Value value) { return call1(op::glu, {gate, value}); }
Value swiglu(Value gate, Value value) { return call1(op::swiglu, {gate, value}); }
Value geglu(Value gate, Value value) { return call1(op::geglu, {gate, value}); }

namespace {

Value of_halves(const Op& op, const Value& value_and_gate) {
  const std::vector<Value> halves = split(value_and_gate, 2, -1);
  return call1(op, {halves[1], halves[0]});
}

}  // namespace

Value glu(Value value_and_gate) { return of_halves(op::glu, value_and_gate); }
Value swiglu(Value value_and_gate) { return of_halves(op::swiglu, value_and_gate); }
Value geglu(Value value_and_gate) { return of_halves(op::geglu, value_and_gate); }

// ---- by name

namespace {

constexpr double kRootTwo = 1.4142135623730951;
constexpr double kNever = std::numeric_limits<double>::infinity();

Value leaky(Value x) { return leaky_relu(x); }
Value unit_elu(Value x) { return elu(x); }
Value identity(Value x) { return x; }

// Gains are those of PyTorch's calculate_gain if it has one. The others are 1 / sqrt(E f(z)^2) for
// standard normal z; for ReLU this gives He's sqrt 2.
constexpr Activation kActivations[] = {
    {"relu", relu, kRootTwo, "1 where x > 0, else 0", 0, kNever, 1, 0, kNever},
    {"leaky_relu", leaky, 1.4141428569978354, "1 where x > 0, else 0.01", -kNever, kNever, 1,
     -kNever, kNever},
    {"elu", unit_elu, 1.2451983007, "1 where x > 0, else y + 1", -1, kNever, 1, -6.9077553, kNever},
    {"selu", selu, 0.75, "1.0507 where x > 0, else y + 1.7581", -1.7580993409, kNever, 1.7580993409,
     -7.4719886, kNever},
    {"gelu", gelu, 1.5335304412, "Phi(x) + x phi(x)", -0.1699712075, kNever, 1.1289041452,
     -3.8103714, kNever},
    {"gelu_tanh", gelu_tanh, 1.5335805217, "s + x s (1 - s) (2 u)', s = sigmoid(2 u)",
     -0.1700407506, kNever, 1.1289930686, -3.7373492, kNever},
    {"silu", silu, 1.6765324704, "s + x s (1 - s), s = sigmoid(x)", -0.2784645428, kNever,
     1.0998393202, -8.9850616, kNever},
    {"mish", mish, 1.4868475813, "t + x (1 - t^2) sigmoid(x), t = tanh(softplus(x))", -0.3088434131,
     kNever, 1.0884981612, -8.9852137, kNever},
    {"softplus", softplus, 1.0418668356, "sigmoid(x)", 0, kNever, 1, -6.9067548, kNever},
    {"hard_swish", hard_swish, 1.7366572128, "0 where x < -3, x / 3 + 1/2 up to 3, 1 beyond",
     -0.375, kNever, 1.5, -3, kNever},
    {"tanh", tanh, 5.0 / 3, "1 - y^2", -1, 1, 1, -4.1467747, 4.1467747},
    {"sigmoid", sigmoid, 1, "y (1 - y)", 0, 1, 0.25, -6.9057523, 6.9057523},
    {"hard_tanh", hard_tanh, 1.3920361405, "1 where -1 < x < 1, else 0", -1, 1, 1, -1, 1},
    {"hard_sigmoid", hard_sigmoid, 1.8978404248, "1/6 where -3 < x < 3, else 0", 0, 1, 1.0 / 6, -3,
     3},
    {"relu6", relu6, 1.4142135651, "1 where 0 < x < 6, else 0", 0, 6, 1, 0, 6},
    {"step", step, kRootTwo, "none: 0 wherever it exists", 0, 1, 0, kNever, -kNever},
    {"identity", identity, 1, "1", -kNever, kNever, 1, -kNever, kNever},
};

}  // namespace

std::span<const Activation> activations() { return kActivations; }

}  // namespace limpid
