// Export of arithmetic, comparison, selection and activations that need several operators of ONNX.
#include <algorithm>

#include "limpid/core/coefficients.h"
#include "limpid/formats/onnx/export/detail/export_op.h"
#include "limpid/ops/ops.h"

namespace limpid::onnx::detail {
namespace {

// ---- ops that ONNX defines differently

// Integer division by zero: ONNX does not define it, and processors trap.
struct Division {
  std::string divisor;
  std::string is_zero;  // "" where it cannot be
};

bool has_zero(const Tensor& t) {
  const std::size_t size = size_of(t.dtype());
  const auto bytes = t.bytes();
  for (std::size_t i = 0; i < bytes.size(); i += size)
    if (std::all_of(&bytes[i], &bytes[i] + size, [](std::byte b) { return b == std::byte{0}; }))
      return true;
  return false;
}

Division safe_divisor(OpCall& c, const std::string& b) {
  const Tensor* known = c.constant(1);
  if (is_floating(c.dtype(1)) || (known && !has_zero(*known))) return {b, ""};
  GraphWriter& g = c.graph();
  const std::string is_zero = g.node("Equal", {b, g.constant(0, c.dtype(1))});
  return {g.node("Where", {is_zero, g.constant(1, c.dtype(1)), b}), is_zero};
}

// 0 if the divisor is zero.
Names write_divide(OpCall& c) {
  const Names in = c.stretching_inputs();
  const Division by = safe_divisor(c, in[1]);
  const std::string quotient = c.graph().node("Div", {in[0], by.divisor});
  if (by.is_zero.empty()) return {quotient};
  return {c.graph().node("Where", {by.is_zero, c.graph().constant(0, c.dtype(0)), quotient})};
}

// The dividend if the divisor is zero. fmod is C's, with the sign of the dividend.
Names write_remainder(OpCall& c) {
  const Names in = c.stretching_inputs();
  const Division by = safe_divisor(c, in[1]);
  const std::string rest = c.graph().node("Mod", {in[0], by.divisor}, {{"fmod", std::int64_t{1}}});
  if (by.is_zero.empty()) return {rest};
  return {c.graph().node("Where", {by.is_zero, in[0], rest})};
}

// Neg takes only signed numbers.
Names write_negate(OpCall& c) {
  if (c.dtype(0) != Dtype::kU8) return write_elementwise(c);
  return {c.graph().node("Sub", {c.graph().constant(0, Dtype::kU8), c.input(0)})};
}

Names write_not_equal(OpCall& c) {
  return {c.graph().node("Not", {c.graph().node("Equal", c.stretching_inputs())})};
}

Names write_rsqrt(OpCall& c) {
  return {c.graph().node("Reciprocal", {c.graph().node("Sqrt", {c.input(0)})})};
}

// (1 + erf(x / sqrt 2)) / 2, which loses the tail of small numbers.
Names write_ndtr(OpCall& c) {
  GraphWriter& g = c.graph();
  const auto number = [&](double value) { return g.constant(value, c.dtype(0)); };
  const std::string u = g.node("Mul", {c.input(0), number(arithmetic::coefficients::kRootHalf)});
  return {g.node("Mul", {g.node("Add", {g.node("Erf", {u}), number(1)}), number(0.5)})};
}

Names write_truncate(OpCall& c) {
  GraphWriter& g = c.graph();
  const std::string x = c.input(0);
  const std::string negative = g.node("Less", {x, g.constant(0, c.dtype(0))});
  return {g.node("Where", {negative, g.node("Ceil", {x}), g.node("Floor", {x})})};
}

// Kahan's method: with u = 1 + x rounded, log(u) x / (u - 1) cancels the rounding error of u. Where
// u is 1 that is x, and where u is x, infinite perhaps, log(u).
Names write_log1p(OpCall& c) {
  GraphWriter& g = c.graph();
  const std::string x = c.input(0), one = g.constant(1, c.dtype(0));
  const std::string u = g.node("Add", {x, one});
  const std::string log = g.node("Log", {u});
  const std::string ratio = g.node("Div", {x, g.node("Sub", {u, one})});
  const std::string large =
      g.node("Where", {g.node("Equal", {u, x}), log, g.node("Mul", {log, ratio})});
  return {g.node("Where", {g.node("Equal", {u, one}), x, large})};
}

// The same for e^x - 1: (u - 1) x / log(u) with u the rounded e^x; x where u is 1, -1 where u is 0,
// and u where it is as large as u - 1.
Names write_expm1(OpCall& c) {
  GraphWriter& g = c.graph();
  const std::string x = c.input(0), one = g.constant(1, c.dtype(0));
  const std::string u = g.node("Exp", {x});
  const std::string less = g.node("Sub", {u, one});
  const std::string ratio = g.node("Div", {x, g.node("Log", {u})});
  const std::string extreme = g.node(
      "Or", {g.node("Equal", {less, g.constant(-1, c.dtype(0))}), g.node("Equal", {less, u})});
  const std::string inner = g.node("Where", {extreme, less, g.node("Mul", {less, ratio})});
  return {g.node("Where", {g.node("Equal", {u, one}), x, inner})};
}

// Numbers beyond a small integer type saturate; ONNX does not define them.
Names write_cast(OpCall& c) {
  GraphWriter& g = c.graph();
  const Dtype from = c.dtype(0), to = c.output_dtype();
  std::string x = c.input(0);
  if ((from == Dtype::kF32 || from == Dtype::kF64) && (to == Dtype::kI8 || to == Dtype::kU8)) {
    const double low = to == Dtype::kI8 ? -128 : 0;
    x = g.node("Clip", {x, g.constant(low, from), g.constant(low + 255, from)});
  }
  return {g.node("Cast", {x}, {{"to", element_type(to)}})};
}

// ---- activations with attributes, which ONNX has in f32

bool held_by_f32(const Call& call, std::string_view name) {
  const double number = call.attributes.get<double>(name);
  return call.inputs[0].dtype == Dtype::kF32 ||
         static_cast<double>(static_cast<float>(number)) == number;
}
bool slope_is_f32(const Call& call) { return held_by_f32(call, "slope"); }
bool alpha_is_f32(const Call& call) { return held_by_f32(call, "alpha"); }

Names write_leaky_relu(OpCall& c) {
  return {
      c.graph().node("LeakyRelu", {c.input(0)}, {{"alpha", static_cast<float>(c.real("slope"))}})};
}
Names write_elu(OpCall& c) {
  return {c.graph().node("Elu", {c.input(0)}, {{"alpha", static_cast<float>(c.real("alpha"))}})};
}
// Only the slope is broadcast.
Names write_prelu(OpCall& c) { return {c.graph().node("PRelu", {c.input(0), c.narrow_input(1)})}; }
Names write_clamp(OpCall& c) {
  return {c.graph().node("Clip", {c.input(0), c.graph().constant(c.real("low"), c.dtype(0)),
                                  c.graph().constant(c.real("high"), c.dtype(0))})};
}
Names write_hard_sigmoid(OpCall& c) {
  return {c.graph().node("HardSigmoid", {c.input(0)}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}})};
}

constexpr ExportOp kElementwiseExports[] = {
    {&op::divide, write_divide},
    {&op::remainder, write_remainder},
    {&op::negate, write_negate},
    {&op::ndtr, write_ndtr},
    {&op::log1p, write_log1p},
    {&op::expm1, write_expm1},
    {&op::rsqrt, write_rsqrt},
    {&op::truncate, write_truncate},
    {&op::not_equal, write_not_equal},
    {&op::cast, write_cast},
    {&op::leaky_relu, write_leaky_relu, slope_is_f32},
    {&op::prelu, write_prelu},
    {&op::elu, write_elu, alpha_is_f32},
    {&op::selu, write_elementwise, is_f32},
    {&op::clamp, write_clamp},
    {&op::hard_sigmoid, write_hard_sigmoid, is_f32},
    {&op::hard_swish, write_elementwise, is_f32},
};

}  // namespace

std::span<const ExportOp> elementwise_export_ops() { return kElementwiseExports; }

}  // namespace limpid::onnx::detail
