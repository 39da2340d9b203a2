// Elements by their numbers.
#include <fmt/format.h>

#include "limpid/formats/onnx/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"

namespace limpid::onnx::detail {
namespace {

Values import_gather(Node& node) {
  const Value x = node.input(0);
  const Value indices = node.input(1);
  const std::size_t axis = normalize_axis(node.integer("axis", 0), x.rank(), "axis");
  const Value size = scalar_like(indices, static_cast<double>(x.shape()[axis]));
  const Value counted = select(less(indices, full_like(indices, 0)), indices + size, indices);
  return {take(x, counted, static_cast<std::int64_t>(axis))};
}

constexpr NodeOp kTable[] = {
    {.name = "Gather", .meaning = "take", .import = import_gather},
};

}  // namespace

constexpr std::span<const NodeOp> index_operators = kTable;

}  // namespace limpid::onnx::detail
