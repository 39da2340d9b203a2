// Reductions over any axes, which keep size 1 unless the node says otherwise.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

using Axes = std::vector<std::size_t>;

// The axes, sorted. Without a list: all, or none if the node says so.
Axes axes_of(const Node& node, std::size_t rank) {
  const auto given = node.known_integers("axes", 1);
  Axes axes;
  if (given && !given->empty()) {
    for (const std::int64_t axis : *given) axes.push_back(normalize_axis(axis, rank, "axes"));
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
      node.fail(ErrorCode::kShape, fmt::format("duplicate axis: [{}]", fmt::join(*given, ", ")));
  } else if (!node.flag("noop_with_empty_axes", false)) {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  return axes;
}

// Reduces the axes one after the other, the last first.
template <class F>
Value reduce(Value x, const Axes& axes, const F& over_axis) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
    x = over_axis(x, static_cast<std::int64_t>(*axis));
  return x;
}

// In the dtype of x: ONNX's sums and products of i32 are i32.
template <Value (*over_axis)(Value, std::int64_t)>
Value of_same_dtype(Value x, const Axes& axes) {
  return cast(reduce(x, axes, over_axis), x.dtype());
}
Value total(Value x, const Axes& axes) { return of_same_dtype<sum>(x, axes); }

// Narrow types as i32. Of an empty axis, i32's lowest and highest number become false and true.
template <Value (*over_axis)(Value, std::int64_t)>
Value extreme(Value x, const Axes& axes) {
  const Dtype dtype = x.dtype();
  if (dtype != Dtype::kBool && dtype != Dtype::kU8 && dtype != Dtype::kI8)
    return reduce(x, axes, over_axis);
  const Value found = reduce(cast(x, Dtype::kI32), axes, over_axis);
  return dtype == Dtype::kBool ? less(full_like(found, 0), found) : cast(found, dtype);
}

Value product(Value x, const Axes& axes) { return of_same_dtype<prod>(x, axes); }

Value average(Value x, const Axes& axes) {
  double count = 1;
  for (const std::size_t axis : axes) count *= static_cast<double>(x.shape()[axis]);
  const Value sums = total(x, axes);
  return sums / full_like(sums, count);
}

Value sum_of_absolutes(Value x, const Axes& axes) { return total(abs(x), axes); }
Value sum_of_squares(Value x, const Axes& axes) { return total(x * x, axes); }

// Reductions of integers other than sums are computed in f64.
template <Value (*floating)(Value, const Axes&)>
Value through_f64(Value x, const Axes& axes) {
  if (!is_integer(x.dtype())) return floating(x, axes);
  return cast(floating(cast(x, Dtype::kF64), axes), x.dtype());
}

Value root_of_squares(Value x, const Axes& axes) { return sqrt(sum_of_squares(x, axes)); }
Value log_of_sum(Value x, const Axes& axes) { return log(total(x, axes)); }

// Subtracts the largest, unless it is infinite, so that nothing overflows.
Value log_of_sum_of_exp(Value x, const Axes& axes) {
  Value largest = reduce(x, axes, [](Value v, std::int64_t axis) { return max(v, axis); });
  const Value infinite = full_like(largest, std::numeric_limits<double>::infinity());
  largest = select(equal(abs(largest), infinite), full_like(largest, 0), largest);
  Shape kept = x.shape();
  for (const std::size_t axis : axes) kept = kept.replace(axis, 1);
  return log(total(exp(x - reshape(largest, kept)), axes)) + largest;
}

template <Value (*reduction)(Value, const Axes&)>
Values import_reduction(Node& node) {
  const Value x = node.input(0);
  const Axes axes = axes_of(node, x.rank());
  const Value reduced = reduction(x, axes);
  if (!node.flag("keepdims", true)) return {reduced};
  Shape kept = x.shape();
  for (const std::size_t axis : axes) kept = kept.replace(axis, 1);
  return {reshape(reduced, kept)};
}

constexpr NodeOp kReductionsOperators[] = {
    {.name = "ReduceL1", .meaning = "sum of abs", .import = import_reduction<sum_of_absolutes>},
    {.name = "ReduceL2",
     .meaning = "sqrt of the sum of squares",
     .import = import_reduction<through_f64<root_of_squares>>},
    {.name = "ReduceLogSum",
     .meaning = "log of the sum",
     .import = import_reduction<through_f64<log_of_sum>>},
    {.name = "ReduceLogSumExp",
     .meaning = "max + log of the sum of exp(x - max)",
     .import = import_reduction<through_f64<log_of_sum_of_exp>>},
    {.name = "ReduceMax", .meaning = "max", .import = import_reduction<extreme<max>>},
    {.name = "ReduceMean",
     .meaning = "sum / the number of elements",
     .import = import_reduction<average>},
    {.name = "ReduceMin", .meaning = "min", .import = import_reduction<extreme<min>>},
    {.name = "ReduceProd", .meaning = "prod", .import = import_reduction<product>},
    {.name = "ReduceSum", .meaning = "sum", .import = import_reduction<total>},
    {.name = "ReduceSumSquare",
     .meaning = "sum of squares",
     .import = import_reduction<sum_of_squares>},
};

}  // namespace

constexpr std::span<const NodeOp> reduction_operators = kReductionsOperators;

}  // namespace limpid::onnx::detail
