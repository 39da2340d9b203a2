// Operators that gather and scatter elements by index.
#include <fmt/format.h>

#include <numeric>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/along_axis.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/scatter.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

// Negative numbers count from the end; `size` is a number or one for each of the last dimension.
Value counted(const Value& indices, const Value& size) {
  return select(indices < number_like(indices, 0), indices + size, indices);
}
Value counted(const Value& indices, std::int64_t size) {
  return counted(indices, number_like(indices, static_cast<double>(size)));
}

std::size_t axis_of(const Node& node, const Value& x, std::int64_t otherwise) {
  return normalize_axis(node.integer("axis", otherwise), x.rank(), "axis");
}

// ---- reading

Values import_gather(Node& node) {
  const Value x = node.input(0);
  const std::size_t axis = axis_of(node, x, 0);
  return {take(x, node.input(1), static_cast<std::int64_t>(axis))};
}

Values import_gather_elements(Node& node) {
  const Value x = node.input(0);
  const std::size_t axis = axis_of(node, x, 0);
  return {take_along_axis(x, node.input(1), static_cast<std::int64_t>(axis))};
}

// Rows of x by multi-indices, which are the last dimension of ONNX's indices: x with the indexed
// dimensions joined into one, after `batch` common dimensions.
struct RowsByNumbers {
  Value x, rows;
  std::int64_t batch;
};
RowsByNumbers rows_by_numbers(const Node& node, const Value& x, const Value& indices,
                              std::int64_t batch) {
  const Shape shape = x.shape();
  const Shape numbers = indices.shape();
  const std::int64_t most = static_cast<std::int64_t>(std::min(shape.rank(), numbers.rank())) - 1;
  const std::int64_t depth = numbers.rank() == 0 ? 0 : numbers.back();
  if (batch < 0 || batch > most || depth < 1 ||
      depth > static_cast<std::int64_t>(shape.rank()) - batch)
    node.fail(ErrorCode::kShape,
              fmt::format("indices {} of {} after {} dimensions in common",
                          to_string(indices.type()), to_string(x.type()), batch));
  const auto first = static_cast<std::size_t>(batch), count = static_cast<std::size_t>(depth);
  const Shape chosen(shape.dims().subspan(first, count));
  const Value sizes =
      cast(constant(node.builder(), Tensor::from<std::int64_t>({depth}, chosen.dims())),
           indices.dtype());
  const Value rows = flat_index(counted(indices, sizes), chosen);
  Shape joined = shape;
  for (std::size_t d = 1; d < count; ++d) joined = joined.erase(first);
  return {reshape(x, joined.replace(first, chosen.elements())), rows, batch};
}

Values import_gather_nd(Node& node) {
  const RowsByNumbers by =
      rows_by_numbers(node, node.input(0), node.input(1), node.integer("batch_dims", 0));
  return {gather(by.x, by.rows, by.batch)};
}

// ---- writing

ScatterMode mode_of(const Node& node) {
  const std::string text = node.text("reduction", "none");
  if (text == "none") return ScatterMode::kReplace;
  if (text == "add") return ScatterMode::kAdd;
  if (text == "mul") return ScatterMode::kMultiply;
  if (text == "max") return ScatterMode::kMaximum;
  if (text == "min") return ScatterMode::kMinimum;
  node.fail(ErrorCode::kFormat, fmt::format("unknown reduction '{}'", text));
}

Values import_scatter_elements(Node& node) {
  const Value x = node.input(0);
  const std::size_t axis = axis_of(node, x, 0);
  return {scatter_along_axis(x, counted(node.input(1), x.shape()[axis]), node.input(2),
                             static_cast<std::int64_t>(axis), mode_of(node))};
}

Values import_scatter_nd(Node& node) {
  const Value x = node.input(0);
  const RowsByNumbers by = rows_by_numbers(node, x, node.input(1), 0);
  return {reshape(scatter(by.x, by.rows, node.input(2), mode_of(node)), x.shape())};
}

// Writes rows of a cache (B, ..., S, ...) from a position per example; a circular cache continues
// at its beginning.
Values import_tensor_scatter(Node& node) {
  const Value cache = node.input(0), update = node.input(1);
  const std::size_t axis = axis_of(node, cache, -2);
  const std::string mode = node.text("mode", "linear");
  if (axis == 0 || update.rank() != cache.rank() || (mode != "linear" && mode != "circular"))
    node.fail(ErrorCode::kUnsupported,
              fmt::format("mode {} along axis {} of {}, updates {}", mode, axis,
                          to_string(cache.type()), to_string(update.type())));
  const std::int64_t batch = cache.shape()[0], size = cache.shape()[axis],
                     count = update.shape()[axis];
  const Value steps = cast(iota(node.builder(), count), Dtype::kI64);
  Value rows = broadcast(steps, {batch, count});
  if (node.has_input(2)) rows = rows + reshape(node.input(2), {batch, 1});
  if (mode == "circular") rows = fmod(rows, number_like(rows, static_cast<double>(size)));
  // Moves the axis after the batch by swapping two dimensions.
  std::vector<std::int64_t> exchange(cache.rank());
  std::iota(exchange.begin(), exchange.end(), 0);
  std::swap(exchange[1], exchange[axis]);
  const Value written = scatter(transpose(cache, exchange), rows, transpose(update, exchange),
                                ScatterMode::kReplace, 1);
  return {transpose(written, exchange)};
}

constexpr NodeOp kIndexingOperators[] = {
    {.name = "Gather", .meaning = "take", .import = import_gather},
    {.name = "GatherElements",
     .since = 11,
     .meaning = "take_along_axis",
     .import = import_gather_elements},
    {.name = "GatherND",
     .since = 11,
     .meaning = "gather, by several indices at once",
     .import = import_gather_nd},
    {.name = "Scatter",
     .since = 9,
     .until = 10,
     .meaning = "scatter_along_axis",
     .import = import_scatter_elements},
    {.name = "ScatterElements",
     .since = 11,
     .meaning = "scatter_along_axis",
     .import = import_scatter_elements},
    {.name = "ScatterND",
     .since = 11,
     .meaning = "scatter, by several indices at once",
     .import = import_scatter_nd},
    {.name = "TensorScatter",
     .since = 24,
     .meaning = "scatter into a cache, at a position for each example",
     .import = import_tensor_scatter},
};

}  // namespace

constexpr std::span<const NodeOp> indexing_operators = kIndexingOperators;

}  // namespace limpid::onnx::detail
