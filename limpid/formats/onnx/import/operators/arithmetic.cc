// Arithmetic, element by element.
#include <fmt/format.h>

#include <limits>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

template <Value (*f)(Value, Value)>
Values import_binary(Node& node) {
  return {f(node.input(0), second_operand(node))};
}

template <Value (*f)(Value, Value)>
Values import_variadic(Node& node) {
  const Values inputs = node.inputs();
  Value result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) result = f(result, inputs[i]);
  return {result};
}

Values import_mean(Node& node) {
  const Value total = import_variadic<add>(node)[0];
  return {total / static_cast<double>(node.input_count())};
}

Values import_mod(Node& node) {
  const Value b = node.input(1);
  const Value r = fmod(node.input(0), b);
  if (node.flag("fmod", false)) return {r};
  // The sign of the divisor.
  const Value zero = scalar_like(r, 0);
  const Value below = less(r, zero);
  const Value divisor_below = less(b, zero);
  const Value otherwise = logical_or(logical_and(below, logical_not(divisor_below)),
                                     logical_and(less(zero, r), divisor_below));
  return {select(broadcast(otherwise, r.shape()), r + b, r)};
}

// In f64 if any operand is an integer or f64, otherwise in f32.
Values import_pow(Node& node) {
  const Value base = node.input(0);
  const Value exponent = second_operand(node);
  const bool wide =
      is_integer(base.dtype()) || base.dtype() == Dtype::kF64 || exponent.dtype() == Dtype::kF64;
  const Dtype within = wide ? Dtype::kF64 : Dtype::kF32;
  return {cast(power(cast(base, within), cast(exponent, within)), base.dtype())};
}

Values import_reciprocal(Node& node) {
  const Value x = node.input(0);
  return {full_like(x, 1) / x};
}

Values import_clip(Node& node) {
  const Value x = node.input(0);
  Value low = node.optional_input(1);
  Value high = node.optional_input(2);
  if (node.has("min")) low = scalar_like(x, node.real("min"));
  if (node.has("max")) high = scalar_like(x, node.real("max"));
  Value result = x;
  if (low) result = maximum(result, reshape(low, {}));
  if (high) result = minimum(result, reshape(high, {}));
  return {result};
}

Values import_cast(Node& node) { return {cast(node.input(0), node.dtype("to"))}; }

Values import_cast_like(Node& node) { return {cast(node.input(0), node.input(1).dtype())}; }

// Powers of two modulo 2^8; division by 0 gives 0, and so does a shift by all bits.
Values import_bit_shift(Node& node) {
  const Value x = node.input(0);
  if (x.dtype() != Dtype::kU8)
    node.fail(ErrorCode::kUnsupported, fmt::format("expected u8, got {}", name(x.dtype())));
  const Value powers =
      constant(node.builder(), Tensor::from<std::uint8_t>({9}, {1, 2, 4, 8, 16, 32, 64, 128, 0}));
  const Value places = gather(
      powers, minimum(cast(node.input(1), Dtype::kI32), constant(node.builder(), 8, Dtype::kI32)));
  const std::string direction = node.text("direction", "");
  if (direction == "LEFT") return {x * places};
  if (direction == "RIGHT") return {x / places};
  node.fail(ErrorCode::kFormat, "the direction is neither LEFT nor RIGHT");
}

// -x - 1 has the bits of x inverted; in u8 as well, modulo 2^8.
Values import_bitwise_not(Node& node) {
  const Value x = node.input(0);
  return {full_like(x, x.dtype() == Dtype::kU8 ? 255 : -1) - x};
}

constexpr NodeOp kArithmeticOperators[] = {
    {.name = "Add", .meaning = "add", .import = import_binary<add>},
    {.name = "BitShift",
     .since = 11,
     .meaning = "x 2^y or x / 2^y, of u8",
     .import = import_bit_shift},
    {.name = "BitwiseNot", .since = 18, .meaning = "-1 - x", .import = import_bitwise_not},
    {.name = "Cast", .since = 6, .meaning = "cast", .import = import_cast},
    {.name = "CastLike", .since = 15, .meaning = "cast", .import = import_cast_like},
    {.name = "Clip", .meaning = "minimum(maximum(x, min), max)", .import = import_clip},
    {.name = "Div", .meaning = "divide", .import = import_binary<divide>},
    {.name = "Max", .meaning = "maximum of all inputs", .import = import_variadic<maximum>},
    {.name = "Mean",
     .meaning = "the sum of all inputs, divided by their number",
     .import = import_mean},
    {.name = "Min", .meaning = "minimum of all inputs", .import = import_variadic<minimum>},
    {.name = "Mod",
     .since = 10,
     .meaning = "remainder, with the divisor's sign unless fmod",
     .import = import_mod},
    {.name = "Mul", .meaning = "multiply", .import = import_binary<multiply>},
    {.name = "Pow", .meaning = "power; of integers in f64", .import = import_pow},
    {.name = "Reciprocal", .meaning = "1 / x", .import = import_reciprocal},
    {.name = "Sub", .meaning = "subtract", .import = import_binary<subtract>},
    {.name = "Sum", .meaning = "the sum of all inputs", .import = import_variadic<add>},
};

}  // namespace

constexpr std::span<const NodeOp> arithmetic_operators = kArithmeticOperators;

}  // namespace limpid::onnx::detail
