// Comparison, logic and choice.
#include <cmath>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

Value conjunction(Value a, Value b) { return logical_and(a, b); }
Value disjunction(Value a, Value b) { return logical_or(a, b); }
Value exclusive_or(Value a, Value b) {
  return logical_and(logical_or(a, b), logical_not(logical_and(a, b)));
}
Value same(Value a, Value b) {
  return a.dtype() == Dtype::kBool ? logical_not(exclusive_or(a, b)) : equal(a, b);
}
Value greater(Value a, Value b) { return less(b, a); }
Value greater_equal(Value a, Value b) { return less_equal(b, a); }

template <Value (*f)(Value, Value)>
Values import_comparison(Node& node) {
  const Value a = node.input(0);
  const Value b = second_operand(node);
  const Shape shape = common_shape(a.shape(), b.shape(), "the operands");
  return {f(broadcast(a, shape), broadcast(b, shape))};
}

Values import_where(Node& node) {
  const Values in = node.inputs(3);
  Shape shape = common_shape(in[1].shape(), in[2].shape(), "the choices");
  shape = common_shape(in[0].shape(), shape, "the condition");
  return {select(broadcast(in[0], shape), broadcast(in[1], shape), broadcast(in[2], shape))};
}

Values import_is_nan(Node& node) { return {not_equal(node.input(0), node.input(0))}; }

Values import_is_inf(Node& node) {
  const Value x = node.input(0);
  const Value above = equal(x, full_like(x, node.flag("detect_positive", true) ? INFINITY : NAN));
  const Value below = equal(x, full_like(x, node.flag("detect_negative", true) ? -INFINITY : NAN));
  return {logical_or(above, below)};
}

constexpr NodeOp kLogicOperators[] = {
    {.name = "And", .meaning = "logical_and", .import = import_comparison<conjunction>},
    {.name = "Equal", .meaning = "equal", .import = import_comparison<same>},
    {.name = "Greater",
     .meaning = "less, with swapped operands",
     .import = import_comparison<greater>},
    {.name = "GreaterOrEqual",
     .since = 12,
     .meaning = "less_equal, with swapped operands",
     .import = import_comparison<greater_equal>},
    {.name = "IsInf",
     .since = 10,
     .meaning = "x = infinity, x = -infinity, or either",
     .import = import_is_inf},
    {.name = "IsNaN", .since = 9, .meaning = "x is not equal to x", .import = import_is_nan},
    {.name = "Less", .meaning = "less", .import = import_comparison<less>},
    {.name = "LessOrEqual",
     .since = 12,
     .meaning = "less_equal",
     .import = import_comparison<less_equal>},
    {.name = "Or", .meaning = "logical_or", .import = import_comparison<disjunction>},
    {.name = "Where", .since = 9, .meaning = "select", .import = import_where},
    {.name = "Xor",
     .meaning = "(a or b) and not (a and b)",
     .import = import_comparison<exclusive_or>},
};

}  // namespace

constexpr std::span<const NodeOp> logic_operators = kLogicOperators;

}  // namespace limpid::onnx::detail
