// The list of all tables of operators, and their common code.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx {
namespace {

// Operators of one operand that are one op of Limpid, as its record says.
std::vector<NodeOp> operators_of_records(std::span<const std::span<const NodeOp>> tables) {
  const auto has_row = [&](std::string_view name) {
    return std::any_of(tables.begin(), tables.end(), [&](std::span<const NodeOp> table) {
      return std::any_of(table.begin(), table.end(),
                         [&](const NodeOp& row) { return row.name == name && row.domain.empty(); });
    });
  };
  std::vector<NodeOp> operators;
  for (const Op* op : all_ops())
    if (op->onnx.is_node && op->max_inputs == 1 && !has_row(op->onnx.name))
      operators.push_back({.name = op->onnx.name,
                           .since = op->onnx.first,
                           .meaning = op->name,
                           .import = nullptr,
                           .op = op});
  return operators;
}

}  // namespace

Values NodeOp::read(Node& node) const {
  return import ? import(node) : Values{call1(*op, {node.input(0)})};
}

std::span<const std::span<const NodeOp>> all_operators() {
  static const std::span<const NodeOp> written[] = {
      detail::activation_operators,    detail::arithmetic_operators,
      detail::attention_operators,     detail::random_operators,
      detail::softmax_operators,       detail::constant_operators,
      detail::control_flow_operators,  detail::einsum_operators,
      detail::indexing_operators,      detail::logic_operators,
      detail::norm_operators,          detail::optimizer_operators,
      detail::picture_operators,       detail::pooling_operators,
      detail::sort_and_scan_operators, detail::slicing_operators,
      detail::product_operators,       detail::reduction_operators,
      detail::shape_operators,         detail::convolution_operators,
      detail::recurrent_operators,
  };
  static const std::vector<NodeOp> of_records = operators_of_records(written);
  static const std::vector<std::span<const NodeOp>> tables = [] {
    std::vector<std::span<const NodeOp>> all(std::begin(written), std::end(written));
    all.emplace_back(of_records);
    return all;
  }();
  return tables;
}

const NodeOp* find_operator(std::string_view domain, std::string_view name, std::int64_t version) {
  for (const std::span<const NodeOp> table : all_operators())
    for (const NodeOp& op : table)
      if (op.name == name && op.domain == domain && version >= op.since &&
          (op.until == 0 || version <= op.until))
        return &op;
  return nullptr;
}

namespace detail {

bool is_integer(Dtype dtype) {
  return dtype == Dtype::kI32 || dtype == Dtype::kI64 || dtype == Dtype::kI8 || dtype == Dtype::kU8;
}

Value counting(const Node& node, std::int64_t count, Dtype dtype) {
  if (count > std::int64_t{1} << 31)
    node.fail(ErrorCode::kUnsupported, fmt::format("a sequence of {} numbers is too long", count));
  const Value numbers = iota(node.builder(), count);
  return dtype == Dtype::kI32 ? numbers : cast(numbers, dtype);
}

Value scalar_like(Value x, double number) {
  const Dtype dtype = x.dtype();
  if (!is_integer(dtype)) return constant(x.builder(), number, dtype);
  return cast(constant(x.builder(), number, Dtype::kF64), dtype);
}

Value full_like(Value x, double number) { return broadcast(scalar_like(x, number), x.shape()); }

Value second_operand(const Node& node) {
  const Value b = node.input(1);
  if (node.version() >= 7 || !node.flag("broadcast", false) || !node.has("axis")) return b;
  const std::size_t rank = node.input(0).rank();
  const std::size_t axis = normalize_axis(node.integer("axis"), rank, "axis");
  Shape shape = b.shape();
  while (shape.rank() < rank - axis) shape = shape.insert(shape.rank(), 1);
  return reshape(b, shape);
}

}  // namespace detail
}  // namespace limpid::onnx
