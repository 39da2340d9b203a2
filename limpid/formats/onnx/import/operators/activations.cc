// Activations.
#include <fmt/format.h>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/activation.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

Values import_relu(Node& node) {
  const Value x = node.input(0);
  return {is_integer(x.dtype()) ? maximum(x, scalar_like(x, 0)) : relu(x)};
}

Values import_leaky_relu(Node& node) {
  return {leaky_relu(node.input(0), node.real("alpha", 0.01f))};
}

// The slope is broadcast to x's shape; before version 7, a vector is per channel.
Values import_prelu(Node& node) {
  const Value x = node.input(0);
  Value slope = node.input(1);
  if (node.version() < 7 && slope.rank() == 1 && x.rank() > 2) {
    Shape shape = slope.shape();
    while (shape.rank() < x.rank() - 1) shape = shape.insert(shape.rank(), 1);
    slope = reshape(slope, shape);
  }
  return {select(less(x, full_like(x, 0)), x * broadcast(slope, x.shape()), x)};
}

// alpha may be any number, unlike the op elu's.
Value elu_of(Value x, double alpha) {
  if (alpha > 0) return elu(x, alpha);
  return select(less(full_like(x, 0), x), x, alpha * expm1(x));
}

Values import_elu(Node& node) { return {elu_of(node.input(0), node.real("alpha", 1))}; }

Values import_selu(Node& node) {
  constexpr float kAlpha = 1.67326319217681884765625f;
  constexpr float kGamma = 1.05070102214813232421875f;
  const bool first = node.version() < 6;
  const double alpha = node.real("alpha", first ? 1.6732f : kAlpha);
  const double gamma = node.real("gamma", first ? 1.0507f : kGamma);
  const Value x = node.input(0);
  if (alpha == kAlpha && gamma == kGamma) return {selu(x)};
  return {gamma * elu_of(x, alpha)};
}

// max(x, 0) + min(0, alpha (e^(x / alpha) - 1)).
Values import_celu(Node& node) {
  const Value x = node.input(0);
  const double alpha = node.real("alpha", 1);
  return {maximum(x, full_like(x, 0)) + minimum(full_like(x, 0), alpha * expm1(x / alpha))};
}

Values import_gelu(Node& node) {
  const std::string form = node.text("approximate", "none");
  if (form != "none" && form != "tanh")
    node.fail(ErrorCode::kUnsupported, "expected the approximation none or tanh");
  return {form == "tanh" ? gelu_tanh(node.input(0)) : gelu(node.input(0))};
}

Values import_hard_sigmoid(Node& node) {
  const Value x = node.input(0);
  return {clamp(node.real("alpha", 0.2f) * x + node.real("beta", 0.5), 0, 1)};
}

Values import_swish(Node& node) { return {swish(node.input(0), node.real("alpha", 1))}; }

Values import_softsign(Node& node) {
  const Value x = node.input(0);
  return {x / (1 + abs(x))};
}

Values import_thresholded_relu(Node& node) {
  const Value x = node.input(0);
  return {select(less(full_like(x, node.real("alpha", 1)), x), x, full_like(x, 0))};
}

// Toward 0 by the bias, and 0 from -lambda to lambda.
Values import_shrink(Node& node) {
  const Value x = node.input(0);
  const double lambda = node.real("lambd", 0.5);
  const Value bias = full_like(x, node.real("bias", 0));
  const Value above = select(less(full_like(x, lambda), x), x - bias, full_like(x, 0));
  return {select(less(x, full_like(x, -lambda)), x + bias, above)};
}

constexpr NodeOp kActivationsOperators[] = {
    {.name = "Celu",
     .since = 12,
     .meaning = "max(x, 0) + min(0, alpha expm1(x / alpha))",
     .import = import_celu},
    {.name = "Elu", .meaning = "elu", .import = import_elu},
    {.name = "Gelu", .since = 20, .meaning = "gelu or gelu_tanh", .import = import_gelu},
    {.name = "HardSigmoid",
     .meaning = "clamp(alpha x + beta, 0, 1)",
     .import = import_hard_sigmoid},
    {.name = "LeakyRelu", .meaning = "leaky_relu", .import = import_leaky_relu},
    {.name = "PRelu", .meaning = "x, times the slope where x < 0", .import = import_prelu},
    {.name = "Relu", .meaning = "relu, or maximum(x, 0) of integers", .import = import_relu},
    {.name = "Selu", .meaning = "selu, or gamma elu(x, alpha)", .import = import_selu},
    {.name = "Shrink",
     .since = 9,
     .meaning = "x + bias where x < -lambda, x - bias where x > lambda, else 0",
     .import = import_shrink},
    {.name = "Softsign", .meaning = "x / (1 + abs(x))", .import = import_softsign},
    {.name = "Swish", .since = 24, .meaning = "swish", .import = import_swish},
    {.name = "ThresholdedRelu",
     .since = 10,
     .meaning = "x where x > alpha, else 0",
     .import = import_thresholded_relu},
};

}  // namespace

constexpr std::span<const NodeOp> activation_operators = kActivationsOperators;

}  // namespace limpid::onnx::detail
