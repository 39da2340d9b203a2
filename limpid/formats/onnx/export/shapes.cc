// Export of ops that move elements, reduce an axis or work along it.
#include <algorithm>

#include "limpid/formats/onnx/export/detail/export_op.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"

namespace limpid::onnx::detail {
namespace {

using List = std::vector<std::int64_t>;

// ---- values from nowhere

Names write_constant(OpCall& c) {
  return {c.graph().constant(c.attributes().get<Tensor>("value"))};
}

Names write_iota(OpCall& c) {
  GraphWriter& g = c.graph();
  return {g.node("Range", {g.constant(0, Dtype::kI32), g.integer(c.integer("size"), Dtype::kI32),
                           g.constant(1, Dtype::kI32)})};
}

// ---- shapes

// One dimension that depends on the batch may be left to the operator, unless a dimension of 0
// makes it ambiguous.
Names write_reshape(OpCall& c) {
  Numbers shape = c.output_shape();
  const auto depends = [](const Number& n) { return n.factor != 0; };
  const auto is_zero = [](const Number& n) { return n.is(0); };
  const bool empty = std::any_of(shape.begin(), shape.end(), is_zero);
  if (!empty && std::count_if(shape.begin(), shape.end(), depends) == 1)
    *std::find_if(shape.begin(), shape.end(), depends) = {-1, 0};
  std::vector<Written> attributes;
  if (empty) attributes.push_back({"allowzero", std::int64_t{1}});
  return {c.graph().node("Reshape", {c.input(0), c.graph().integers(shape)}, attributes)};
}

Names write_broadcast(OpCall& c) {
  c.repeat(0);
  return {};
}

Names write_transpose(OpCall& c) {
  return {c.graph().node("Transpose", {c.input(0)}, {{"perm", c.fixed_integers("permutation")}})};
}

Names write_barrier(OpCall& c) {
  Names results;
  for (std::size_t i = 0; i < c.inputs(); ++i)
    results.push_back(c.graph().node("Identity", {c.input(i)}));
  return results;
}

Names write_concatenate(OpCall& c) {
  return {c.graph().node("Concat", c.all_inputs(), {{"axis", c.fixed_integer("axis")}})};
}

// The axes from which elements are removed.
Names write_slice(OpCall& c) {
  const Numbers x = c.shape(0), starts = c.integers("starts"), limits = c.integers("limits");
  const List strides = c.fixed_integers("strides");
  Numbers from, to;
  List axes, steps;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (starts[d].is(0) && limits[d] == x[d] && strides[d] == 1) continue;
    axes.push_back(static_cast<std::int64_t>(d));
    from.push_back(starts[d]);
    to.push_back(limits[d]);
    steps.push_back(strides[d]);
  }
  GraphWriter& g = c.graph();
  if (axes.empty()) return {g.node("Identity", {c.input(0)})};
  return {g.node("Slice", {c.input(0), g.integers(from), g.integers(to), g.integers(axes),
                           g.integers(steps)})};
}

// Inserts `value`, `between` times, between the elements of x along an axis.
std::string spread(OpCall& c, const std::string& x, const Numbers& shape, std::size_t axis,
                   std::int64_t between, const std::string& value) {
  GraphWriter& g = c.graph();
  const auto a = static_cast<std::ptrdiff_t>(axis);
  Numbers apart = shape, together = shape;
  apart.insert(apart.begin() + a + 1, {1, 0});
  together[axis] = shape[axis] * (between + 1);
  Numbers pads(2 * apart.size());
  pads[apart.size() + axis + 1] = {between, 0};
  const std::string padded =
      g.node("Pad", {g.node("Reshape", {x, g.integers(apart)}), g.integers(pads), value});
  const std::string whole = g.node("Reshape", {padded, g.integers(together)});
  const Numbers end{together[axis] + Number{-between, 0}};
  return g.node("Slice", {whole, g.integers(List{0}), g.integers(end),
                          g.integers(List{static_cast<std::int64_t>(axis)})});
}

// ONNX has no interior padding.
Names write_pad(OpCall& c) {
  GraphWriter& g = c.graph();
  const Numbers low = c.integers("low"), high = c.integers("high");
  const List between = c.fixed_integers("interior");
  const std::string value = g.constant(c.real("value"), c.dtype(0));
  std::string x = c.input(0);
  Numbers shape = c.shape(0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (between[d] == 0 || shape[d].is(0) || shape[d].is(1)) continue;
    x = spread(c, x, shape, d, between[d], value);
    shape[d] = shape[d] * (between[d] + 1) + Number{-between[d], 0};
  }
  if (shape.empty()) return {g.node("Identity", {x})};
  Numbers pads = low;
  pads.insert(pads.end(), high.begin(), high.end());
  return {g.node("Pad", {x, g.integers(pads), value})};
}

// ---- reductions

// ONNX's sum has the type of x.
Names write_sum(OpCall& c) {
  GraphWriter& g = c.graph();
  const bool converted = c.dtype(0) != c.output_dtype();
  const std::string x = converted
                            ? g.node("Cast", {c.input(0)}, {{"to", element_type(c.output_dtype())}})
                            : c.input(0);
  return {g.node("ReduceSum", {x, g.integers(List{c.fixed_integer("axis")})},
                 {{"keepdims", std::int64_t{0}}})};
}

// The result for an empty axis, of shape [1].
Tensor of_no_element(const Op& op, Dtype dtype) {
  const Type none{dtype, Shape{0}};
  const Function f = trace("empty", {{"x", none}}, [&](std::span<const Value> in) {
    return call(op, in, {{"axis", std::int64_t{0}}});
  });
  return interpret(f, std::vector{Tensor::zeros(none)}).front().reshape({1});
}

// Up to version 17, ONNX does not define the result for an empty axis.
Names write_extreme(OpCall& c) {
  GraphWriter& g = c.graph();
  const std::int64_t axis = c.fixed_integer("axis");
  if (c.shape(0)[static_cast<std::size_t>(axis)].is(0))
    return {g.node("ConstantOfShape", {g.integers(c.output_shape())},
                   {{"value", of_no_element(c.op(), c.dtype(0))}})};
  return {g.node(c.op().onnx.name, {c.input(0)},
                 {{"axes", List{axis}}, {"keepdims", std::int64_t{0}}})};
}

// Products of integers wrap around, which ONNX Runtime's do not.
bool is_of_reals(const Call& call) { return is_floating(call.inputs[0].dtype); }

Names write_prod(OpCall& c) {
  return {c.graph().node("ReduceProd", {c.input(0)},
                         {{"axes", List{c.fixed_integer("axis")}}, {"keepdims", std::int64_t{0}}})};
}

Names write_cumulative_sum(OpCall& c) {
  GraphWriter& g = c.graph();
  return {g.node("CumSum", {c.input(0), g.integer(c.integer("axis"), Dtype::kI64)},
                 {{"exclusive", std::int64_t{c.flag("exclusive")}},
                  {"reverse", std::int64_t{c.flag("reverse")}}})};
}

// All of the last axis, in order.
Names write_argsort(OpCall& c) {
  GraphWriter& g = c.graph();
  const Names sorted =
      g.nodes("TopK", {c.input(0), g.integers(Numbers{c.shape(0).back()})},
              {{"largest", std::int64_t{c.flag("descending")}}, {"sorted", std::int64_t{1}}}, 2);
  return {g.node("Cast", {sorted[1]}, {{"to", element_type(c.output_dtype())}})};
}

Names write_argmax(OpCall& c) {
  const std::string place = c.graph().node(
      "ArgMax", {c.input(0)}, {{"axis", c.fixed_integer("axis")}, {"keepdims", std::int64_t{0}}});
  return {c.graph().node("Cast", {place}, {{"to", element_type(Dtype::kI32)}})};
}

constexpr ExportOp kShapeExports[] = {
    {&op::constant, write_constant},
    {&op::iota, write_iota},
    {&op::reshape, write_reshape},
    {&op::broadcast, write_broadcast},
    {&op::transpose, write_transpose},
    {&op::slice, write_slice},
    {&op::pad, write_pad},
    {&op::concatenate, write_concatenate},
    {&op::barrier, write_barrier},
    {&op::stop_gradient, write_barrier},
    {&op::sum, write_sum},
    {&op::max, write_extreme},
    {&op::min, write_extreme},
    {&op::argmax, write_argmax},
    {&op::prod, write_prod, is_of_reals},
    {&op::cumulative_sum, write_cumulative_sum},
    {&op::argsort, write_argsort},
};

}  // namespace

std::span<const ExportOp> shape_export_ops() { return kShapeExports; }

}  // namespace limpid::onnx::detail
