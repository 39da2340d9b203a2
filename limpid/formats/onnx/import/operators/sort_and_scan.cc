// Operators that depend on the order along an axis: largest and smallest elements, and cumulative
// sums.
#include <fmt/format.h>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/along_axis.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/cumulative.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/sort.h"

namespace limpid::onnx::detail {
namespace {

// For a storage dtype, one that the ops can compare.
Value comparable(const Value& x) {
  switch (x.dtype()) {
    case Dtype::kI8:
    case Dtype::kU8:
      return cast(x, Dtype::kI32);
    case Dtype::kF16:
    case Dtype::kBf16:
      return cast(x, Dtype::kF32);
    default:
      return x;
  }
}

// The last of equal elements is the first of the reversed axis.
template <Value (*extreme)(Value, std::int64_t)>
Values import_extreme_place(Node& node) {
  const Value x = comparable(node.input(0));
  const std::size_t a = normalize_axis(node.integer("axis", 0), x.rank(), "axis");
  const auto axis = static_cast<std::int64_t>(a);
  Value place = node.flag("select_last_index", false)
                    ? static_cast<double>(x.shape()[a] - 1) - extreme(flip(x, axis), axis)
                    : extreme(x, axis);
  if (node.flag("keepdims", true)) place = reshape(place, x.shape().replace(a, 1));
  return {cast(place, Dtype::kI64)};
}

// The number of elements was an attribute before version 10. With sorted = 0 they are sorted as
// well.
Values import_top_k(Node& node) {
  const Value x = node.input(0);
  const std::int64_t k = node.version() < 10 ? node.integer("k") : node.known_integer(1);
  const TopK chosen = top_k(comparable(x), k, node.integer("axis", -1), node.flag("largest", true));
  return {cast(chosen.values, x.dtype()), cast(chosen.indices, Dtype::kI64)};
}

Values import_cumulative_sum(Node& node) {
  const Value x = node.input(0);
  const Value sums = cumulative_sum(
      x, node.known_integer(1),
      {.exclusive = node.flag("exclusive", false), .reverse = node.flag("reverse", false)});
  return {cast(sums, x.dtype())};
}

constexpr NodeOp kSortAndScanOperators[] = {
    {.name = "ArgMax", .meaning = "argmax", .import = import_extreme_place<argmax>},
    {.name = "ArgMin", .meaning = "argmin", .import = import_extreme_place<argmin>},
    {.name = "CumSum", .since = 11, .meaning = "cumulative_sum", .import = import_cumulative_sum},
    {.name = "TopK", .meaning = "top_k", .import = import_top_k},
};

}  // namespace

constexpr std::span<const NodeOp> sort_and_scan_operators = kSortAndScanOperators;

}  // namespace limpid::onnx::detail
