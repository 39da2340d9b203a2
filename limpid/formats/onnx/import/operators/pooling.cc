// Pooling.
#include "limpid/ops/pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

using Numbers = std::vector<std::int64_t>;

// The pooled dimensions: all but the first two.
std::size_t dims_of(const Node& node, const Value& x) {
  if (x.rank() < 3 || x.rank() > 5)
    node.fail(ErrorCode::kShape,
              fmt::format("input is {}, expected (N, C, 1 to 3 dimensions)", to_string(x.type())));
  return x.rank() - 2;
}

Numbers numbers(const Node& node, std::string_view name, std::size_t count,
                std::int64_t otherwise) {
  if (!node.has(name)) return Numbers(count, otherwise);
  Numbers given = node.integers(name);
  if (given.size() != count)
    node.fail(ErrorCode::kShape,
              fmt::format("{} has {} numbers, expected {}", name, given.size(), count));
  return given;
}

// As much padding as gives ceil(size / stride) windows, the odd one after the elements or before.
void pad_to_same(const Node& node, const Shape& x, bool odd_after, PoolOptions& o) {
  for (std::size_t d = 0; d < o.kernel.size(); ++d) {
    const std::int64_t size = x[2 + d];
    std::int64_t reach = 0, begin = 0, padding = 0;
    if (o.stride[d] < 1 || __builtin_mul_overflow(o.kernel[d] - 1, o.dilation[d], &reach) ||
        __builtin_mul_overflow((size - 1) / o.stride[d], o.stride[d], &begin) ||
        __builtin_add_overflow(begin + 1 - size, reach, &padding))
      node.fail(ErrorCode::kShape, "kernel_shape, strides or dilations are out of range");
    padding = std::max<std::int64_t>(0, padding);
    o.low[d] = odd_after ? padding / 2 : padding - padding / 2;
    o.high[d] = padding - o.low[d];
  }
}

PoolOptions options_of(const Node& node, const Value& x) {
  const std::size_t dims = dims_of(node, x);
  if (!node.has("kernel_shape")) node.fail(ErrorCode::kFormat, "attribute kernel_shape is missing");
  PoolOptions o{.kernel = numbers(node, "kernel_shape", dims, 1),
                .stride = numbers(node, "strides", dims, 1),
                .low = {},
                .high = {},
                .dilation = numbers(node, "dilations", dims, 1),
                .ceil_mode = node.flag("ceil_mode", false)};
  const Numbers pads = numbers(node, "pads", 2 * dims, 0);
  o.low.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims));
  o.high.assign(pads.begin() + static_cast<std::ptrdiff_t>(dims), pads.end());
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pad_to_same(node, x.shape(), automatic == "SAME_UPPER", o);
    o.ceil_mode = false;
  } else if (automatic == "VALID") {
    o.low.assign(dims, 0);
    o.high.assign(dims, 0);
  } else if (automatic != "NOTSET") {
    node.fail(ErrorCode::kUnsupported, fmt::format("auto_pad '{}'", automatic));
  }
  return o;
}

// The windows of all elements of each channel.
PoolOptions whole(const Node& node, const Value& x) {
  const std::size_t dims = dims_of(node, x);
  const Shape shape = x.shape();
  const auto last = shape.dims().last(dims);
  return {.kernel = Numbers(last.begin(), last.end())};
}

// f of x, which pooling takes; of integers of 8 bits as i32, exactly.
template <class F>
Value of_numbers(const Value& x, const F& f) {
  const bool narrow = x.dtype() == Dtype::kI8 || x.dtype() == Dtype::kU8;
  return narrow ? cast(f(cast(x, Dtype::kI32)), x.dtype()) : f(x);
}

// Places in the whole tensor, and with storage_order 1 as if the columns of the pictures were
// their rows.
Value whole_places(const Node& node, const Value& x, const Value& places) {
  const Shape shape = x.shape();
  std::int64_t plane = 1;
  for (std::size_t d = 2; d < shape.rank(); ++d) plane *= shape[d];
  Value within = cast(places, Dtype::kI64);
  if (node.flag("storage_order", false)) {
    const std::int64_t columns = shape.back();
    const std::int64_t rows = shape.rank() < 4 ? 1 : shape[shape.rank() - 2];
    const auto number = [&](std::int64_t n) {
      return broadcast(constant(x.builder(), Tensor::scalar(n)), within.shape());
    };
    const Value column = fmod(within, number(columns));
    const Value row = fmod(within / number(columns), number(rows));
    const Value before = within - fmod(within, number(columns * rows));
    within = before + column * number(rows) + row;
  }
  const Shape lead{shape[0], shape[1]};
  Value first = counting(node, shape[0] * shape[1], Dtype::kI64) *
                constant(x.builder(), Tensor::scalar(plane));
  Shape beside = lead;
  while (beside.rank() < shape.rank()) beside = beside.insert(beside.rank(), 1);
  return within + reshape(first, beside);
}

Values import_max_pool(Node& node) {
  const Value x = node.input(0);
  const PoolOptions o = options_of(node, x);
  Values outputs{of_numbers(x, [&](const Value& v) { return max_pool(v, o); })};
  if (!node.wants_output(1)) return outputs;
  const Value as_number =
      x.dtype() == Dtype::kI8 || x.dtype() == Dtype::kU8 ? cast(x, Dtype::kI32) : x;
  outputs.push_back(whole_places(node, x, max_pool_indices(as_number, o)));
  return outputs;
}

Values import_average_pool(Node& node) {
  const Value x = node.input(0);
  return {avg_pool(x, options_of(node, x), node.flag("count_include_pad", false))};
}

double power_of(const Node& node) {
  // Before version 2 it is a real number.
  return node.version() < 2 ? node.real("p", 2) : static_cast<double>(node.integer("p", 2));
}

Values import_lp_pool(Node& node) {
  const Value x = node.input(0);
  return {lp_pool(x, power_of(node), options_of(node, x))};
}

Values import_global_average_pool(Node& node) {
  const Value x = node.input(0);
  return {avg_pool(x, whole(node, x))};
}
Values import_global_max_pool(Node& node) {
  const Value x = node.input(0);
  return {of_numbers(x, [&](const Value& v) { return max_pool(v, whole(node, x)); })};
}
Values import_global_lp_pool(Node& node) {
  const Value x = node.input(0);
  return {lp_pool(x, power_of(node), whole(node, x))};
}

// The places count within the whole tensor, whose size the windows give. To an output shape that is
// given, zeros are added at the end of each dimension.
Values import_max_unpool(Node& node) {
  const Value x = node.input(0);
  const PoolOptions o = options_of(node, x);
  const Shape shape = x.shape();
  Numbers sizes{shape[0], shape[1]};
  for (std::size_t d = 0; d < o.kernel.size(); ++d) {
    std::int64_t size = 0;
    if (__builtin_mul_overflow(shape[2 + d] - 1, o.stride[d], &size) ||
        __builtin_add_overflow(size, o.kernel[d], &size) ||
        __builtin_sub_overflow(size, o.low[d], &size) ||
        __builtin_sub_overflow(size, o.high[d], &size) || size < 0)
      node.fail(ErrorCode::kShape, "kernel_shape, strides or pads are out of range");
    sizes.push_back(size);
  }
  const Value y = max_unpool(x, node.input(1), sizes);
  if (!node.has_input(2)) return {y};
  const Numbers wanted = node.known_integers(2), none(shape.rank(), 0);
  Numbers high;
  for (std::size_t d = 0; d < sizes.size() && d < wanted.size(); ++d)
    high.push_back(wanted[d] - sizes[d]);
  if (wanted.size() != sizes.size() || *std::min_element(high.begin(), high.end()) < 0)
    node.fail(ErrorCode::kShape, fmt::format("output_shape is [{}], expected at least [{}]",
                                             fmt::join(wanted, ", "), fmt::join(sizes, ", ")));
  return {pad(y, none, high, none)};
}

constexpr NodeOp kPoolingOperators[] = {
    {.name = "AveragePool", .meaning = "avg_pool", .import = import_average_pool},
    {.name = "GlobalAveragePool",
     .meaning = "avg_pool of all elements of a channel",
     .import = import_global_average_pool},
    {.name = "GlobalLpPool",
     .meaning = "lp_pool of all elements of a channel",
     .import = import_global_lp_pool},
    {.name = "GlobalMaxPool",
     .meaning = "max_pool of all elements of a channel",
     .import = import_global_max_pool},
    {.name = "LpPool", .meaning = "lp_pool", .import = import_lp_pool},
    {.name = "MaxPool", .meaning = "max_pool, and max_pool_indices", .import = import_max_pool},
    {.name = "MaxUnpool", .meaning = "max_unpool", .import = import_max_unpool},
};

}  // namespace

constexpr std::span<const NodeOp> pooling_operators = kPoolingOperators;

}  // namespace limpid::onnx::detail
