// Operators without inputs, or that depend only on a shape.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

Values constant_of(const Node& node, Tensor tensor) {
  return {constant(node.builder(), std::move(tensor))};
}

Values import_constant(Node& node) {
  if (node.has("value")) return constant_of(node, node.tensor("value"));
  if (node.has("value_int")) return constant_of(node, Tensor::scalar(node.integer("value_int")));
  if (node.has("value_float"))
    return constant_of(node, Tensor::scalar(static_cast<float>(node.real("value_float"))));
  if (node.has("value_ints")) {
    const std::vector<std::int64_t> numbers = node.integers("value_ints");
    return constant_of(node, Tensor::from({static_cast<std::int64_t>(numbers.size())}, numbers));
  }
  if (node.has("value_floats")) {
    const std::vector<double> numbers = node.reals("value_floats");
    const std::vector<float> narrow(numbers.begin(), numbers.end());
    return constant_of(node, Tensor::from({static_cast<std::int64_t>(narrow.size())}, narrow));
  }
  node.fail(ErrorCode::kUnsupported, "its value is neither a tensor nor a number");
}

Values import_constant_of_shape(Node& node) {
  const Tensor value = node.has("value") ? node.tensor("value") : Tensor::from<float>({1}, {0.0f});
  if (value.elements() != 1)
    node.fail(ErrorCode::kShape,
              fmt::format("the value is {}, expected one number", to_string(value.type())));
  return {broadcast(constant(node.builder(), value.reshape({})), Shape(node.known_integers(0)))};
}

// Dimensions [start, end); negative bounds count from the end, and both are clamped.
Values import_shape(Node& node) {
  const Shape shape = node.input(0).shape();
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const auto place = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  const std::int64_t start = place(node.integer("start", 0));
  const std::int64_t end = std::max(start, place(node.integer("end", rank)));
  return constant_of(node, Tensor::from({end - start}, shape.dims().subspan(
                                                           static_cast<std::size_t>(start),
                                                           static_cast<std::size_t>(end - start))));
}

Values import_size(Node& node) {
  return constant_of(node, Tensor::scalar(node.input(0).shape().elements()));
}

// start, start + delta, ... before limit.
Values import_range(Node& node) {
  const Value start = node.input(0);
  const double first = node.known_real(0);
  const double limit = node.known_real(1);
  const double delta = node.known_real(2);
  const double count = std::ceil((limit - first) / delta);
  if (!(std::abs(count) < 0x1p31))
    node.fail(
        ErrorCode::kUnsupported,
        fmt::format("a range from {} to {} by {} has 2^31 numbers or more", first, limit, delta));
  const auto whole = static_cast<std::int64_t>(std::max(0.0, count));
  return {counting(node, whole, start.dtype()) * reshape(node.input(2), {}) + reshape(start, {})};
}

// Row and column numbers of the last two dimensions of a shape: [rows, 1] and [columns].
struct Places {
  Value row;
  Value column;
};
Places matrix_places(const Node& node, const Shape& shape) {
  const std::int64_t rows = shape[shape.rank() - 2];
  return {reshape(counting(node, rows, Dtype::kI64), {rows, 1}),
          counting(node, shape.back(), Dtype::kI64)};
}

Values import_eye_like(Node& node) {
  const Value x = node.input(0);
  if (x.rank() != 2)
    node.fail(ErrorCode::kShape, fmt::format("{}, expected rank 2", to_string(x.type())));
  const Places at = matrix_places(node, x.shape());
  const Value offset = constant(node.builder(), Tensor::scalar(node.integer("k", 0)));
  return {cast(equal(at.column, at.row + offset), node.dtype("dtype", x.dtype()))};
}

Values import_trilu(Node& node) {
  const Value x = node.input(0);
  if (x.rank() < 2)
    node.fail(ErrorCode::kShape, fmt::format("{}, expected rank 2 or more", to_string(x.type())));
  const Places at = matrix_places(node, x.shape());
  const std::int64_t k = node.has_input(1) ? node.known_integer(1) : 0;
  const Value diagonal = at.row + constant(node.builder(), Tensor::scalar(k));
  const Value kept =
      node.flag("upper", true) ? less_equal(diagonal, at.column) : less_equal(at.column, diagonal);
  const Value none = broadcast(constant(node.builder(), Tensor::zeros({x.dtype(), {}})), x.shape());
  return {select(broadcast(kept, x.shape()), x, none)};
}

// `on` where the position along a new axis equals the index, else `off`. From version 11 on a
// negative index counts from the end; before, none equals it.
Values import_one_hot(Node& node) {
  const Value indices = cast(node.input(0), Dtype::kI64);
  const double size = node.known_real(1);
  if (!(size >= 0 && size < 0x1p31))
    node.fail(ErrorCode::kInvalidArgument,
              fmt::format("expected a depth of 0 to 2^31 - 1, got {}", size));
  const auto depth = static_cast<std::int64_t>(size);
  const Value values = node.input(2);
  if (!(values.shape() == Shape{2}))
    node.fail(ErrorCode::kShape,
              fmt::format("the values off and on are {}, expected [2]", to_string(values.type())));
  const std::size_t axis = normalize_axis(node.integer("axis", -1), indices.rank() + 1, "axis");
  const Value counted =
      node.version() < 11
          ? indices
          : select(less(indices, full_like(indices, 0)),
                   indices + scalar_like(indices, static_cast<double>(depth)), indices);
  std::vector<std::int64_t> row(indices.rank() + 1 - axis, 1);
  row[0] = depth;
  const Shape result = indices.shape().insert(axis, depth);
  const Value hot = equal(reshape(counted, indices.shape().insert(axis, 1)),
                          reshape(counting(node, depth, Dtype::kI64), Shape(row)));
  const auto value = [&](std::int64_t i) {
    return broadcast(reshape(slice(values, 0, i, i + 1), {}), result);
  };
  return {select(hot, value(1), value(0))};
}

constexpr NodeOp kConstantsOperators[] = {
    {.name = "Constant", .meaning = "constant", .import = import_constant},
    {.name = "ConstantOfShape",
     .since = 9,
     .meaning = "broadcast of a constant",
     .import = import_constant_of_shape},
    {.name = "EyeLike", .since = 9, .meaning = "column = row + k", .import = import_eye_like},
    {.name = "OneHot",
     .since = 9,
     .meaning = "select where iota equals the index; depth known at import",
     .import = import_one_hot},
    {.name = "Range", .since = 11, .meaning = "start + delta iota", .import = import_range},
    {.name = "Shape", .meaning = "constant", .import = import_shape},
    {.name = "Size", .meaning = "constant", .import = import_size},
    {.name = "Trilu", .since = 14, .meaning = "select by row and column", .import = import_trilu},
};

}  // namespace

constexpr std::span<const NodeOp> constant_operators = kConstantsOperators;

}  // namespace limpid::onnx::detail
