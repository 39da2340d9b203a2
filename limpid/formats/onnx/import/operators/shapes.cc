// Operators that reshape, repeat or permute dimensions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "limpid/core/counts.h"
#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

Values import_identity(Node& node) { return {node.input(0)}; }

// 0 means the size of x (unless allowzero), -1 the remaining size.
Values import_reshape(Node& node) {
  const Value x = node.input(0);
  const bool allow_zero = node.flag("allowzero", false);
  std::vector<std::int64_t> dims =
      node.known_integers("shape", 1).value_or(std::vector<std::int64_t>());
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (i >= x.rank())
        node.fail(ErrorCode::kShape,
                  fmt::format("dimension {} of [{}] copies one that {} does not have", i,
                              fmt::join(dims, ", "), to_string(x.type())));
      dims[i] = x.shape()[i];
    }
    if (dims[i] == -1) {
      if (open)
        node.fail(ErrorCode::kShape,
                  fmt::format("[{}] has more than one -1", fmt::join(dims, ", ")));
      open = &dims[i];
    } else {
      known = product_or_most(known, dims[i]);
    }
  }
  if (open) *open = known > 0 ? x.shape().elements() / known : 0;
  return {reshape(x, Shape(dims))};
}

Values import_flatten(Node& node) {
  const Value x = node.input(0);
  const auto rank = static_cast<std::int64_t>(x.rank());
  const std::int64_t axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank)
    node.fail(ErrorCode::kShape, fmt::format("axis {} is outside of rank {}", axis, rank));
  const std::size_t at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  const Shape shape = x.shape();
  return {reshape(
      x, {Shape(shape.dims().first(at)).elements(), Shape(shape.dims().subspan(at)).elements()})};
}

// Distinct axes, in ascending order.
std::vector<std::size_t> sorted_axes(const Node& node, const std::vector<std::int64_t>& axes,
                                     std::size_t rank) {
  std::vector<std::size_t> sorted;
  for (const std::int64_t axis : axes) sorted.push_back(normalize_axis(axis, rank, "axes"));
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    node.fail(ErrorCode::kShape, fmt::format("duplicate axis: [{}]", fmt::join(axes, ", ")));
  return sorted;
}

Values import_squeeze(Node& node) {
  const Value x = node.input(0);
  Shape shape = x.shape();
  const auto axes = node.known_integers("axes", 1);
  std::vector<std::size_t> gone;
  if (axes)
    gone = sorted_axes(node, *axes, x.rank());
  else
    for (std::size_t i = 0; i < x.rank(); ++i)
      if (shape[i] == 1) gone.push_back(i);
  for (auto axis = gone.rbegin(); axis != gone.rend(); ++axis) {
    if (shape[*axis] != 1)
      node.fail(ErrorCode::kShape,
                fmt::format("dimension {} of {} is not 1", *axis, to_string(x.type())));
    shape = shape.erase(*axis);
  }
  return {reshape(x, shape)};
}

Values import_unsqueeze(Node& node) {
  const Value x = node.input(0);
  const auto axes = node.known_integers("axes", 1);
  if (!axes) node.fail(ErrorCode::kFormat, "axes are missing");
  Shape shape = x.shape();
  for (const std::size_t axis : sorted_axes(node, *axes, x.rank() + axes->size()))
    shape = shape.insert(axis, 1);
  return {reshape(x, shape)};
}

Values import_transpose(Node& node) {
  const Value x = node.input(0);
  std::vector<std::int64_t> order(x.rank());
  std::iota(order.rbegin(), order.rend(), 0);
  if (node.has("perm")) order = node.integers("perm");
  return {transpose(x, order)};
}

Values import_expand(Node& node) {
  const Value x = node.input(0);
  return {broadcast(x, common_shape(x.shape(), Shape(node.known_integers(1)), "the shape"))};
}

// Repeats each axis in turn, together with all later dimensions.
Values import_tile(Node& node) {
  Value x = node.input(0);
  std::vector<std::int64_t> repeats;
  if (node.version() < 6) {
    repeats.assign(x.rank(), 1);
    repeats.at(normalize_axis(node.known_integer(2), x.rank(), "axis")) = node.known_integer(1);
  } else {
    repeats = node.known_integers(1);
  }
  if (repeats.size() != x.rank())
    node.fail(ErrorCode::kShape,
              fmt::format("{} repeats for {}", repeats.size(), to_string(x.type())));
  for (std::size_t axis = x.rank(); axis-- > 0;) {
    const Shape shape = x.shape();
    const Shape result = shape.replace(axis, product_or_most(shape[axis], repeats[axis]));
    const std::int64_t before = Shape(shape.dims().first(axis)).elements();
    const std::int64_t behind = Shape(shape.dims().subspan(axis)).elements();
    if (repeats[axis] != 1)
      x = reshape(broadcast(reshape(x, {before, 1, behind}), {before, repeats[axis], behind}),
                  result);
  }
  return {x};
}

// Blocks of channels to places, and back: [n, c, h, w] with h and w `blocksize` times as large.
Values import_depth_to_space(Node& node) {
  const Value x = node.input(0);
  const std::int64_t b = node.integer("blocksize");
  if (x.rank() != 4 || b < 1 || b > 1 << 16 || x.shape()[1] % (b * b) != 0)
    node.fail(ErrorCode::kShape, fmt::format("blocks of {} do not fit {}", b, to_string(x.type())));
  const Shape s = x.shape();
  const std::int64_t c = s[1] / (b * b);
  const bool columns_first = node.text("mode", "DCR") == "CRD";
  const Value blocks = columns_first
                           ? transpose(reshape(x, {s[0], c, b, b, s[2], s[3]}), {0, 1, 4, 2, 5, 3})
                           : transpose(reshape(x, {s[0], b, b, c, s[2], s[3]}), {0, 3, 4, 1, 5, 2});
  return {reshape(blocks, {s[0], c, s[2] * b, s[3] * b})};
}

Values import_space_to_depth(Node& node) {
  const Value x = node.input(0);
  const std::int64_t b = node.integer("blocksize");
  if (x.rank() != 4 || b < 1 || b > 1 << 16 || x.shape()[2] % b != 0 || x.shape()[3] % b != 0)
    node.fail(ErrorCode::kShape, fmt::format("blocks of {} do not fit {}", b, to_string(x.type())));
  const Shape s = x.shape();
  const Value blocks =
      transpose(reshape(x, {s[0], s[1], s[2] / b, b, s[3] / b, b}), {0, 3, 5, 1, 2, 4});
  return {reshape(blocks, {s[0], s[1] * b * b, s[2] / b, s[3] / b})};
}

constexpr NodeOp kShapesOperators[] = {
    {.name = "DepthToSpace",
     .meaning = "reshape, transpose, reshape",
     .import = import_depth_to_space},
    {.name = "Expand", .since = 8, .meaning = "broadcast", .import = import_expand},
    {.name = "Flatten", .meaning = "reshape", .import = import_flatten},
    {.name = "Identity", .meaning = "x", .import = import_identity},
    {.name = "Reshape", .meaning = "reshape; shape known at import", .import = import_reshape},
    {.name = "SpaceToDepth",
     .meaning = "reshape, transpose, reshape",
     .import = import_space_to_depth},
    {.name = "Squeeze", .meaning = "reshape", .import = import_squeeze},
    {.name = "Tile", .meaning = "broadcast", .import = import_tile},
    {.name = "Transpose", .meaning = "transpose", .import = import_transpose},
    {.name = "Unsqueeze", .meaning = "reshape", .import = import_unsqueeze},
};

}  // namespace

constexpr std::span<const NodeOp> shape_operators = kShapesOperators;

}  // namespace limpid::onnx::detail
