// Convolutions, and the adjoint of their patches.
#include <fmt/format.h>

#include <algorithm>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/conv.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

using List = std::vector<std::int64_t>;

// Beyond, sums of products of two could leave i64.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 30;

// An attribute with `count` numbers.
List numbers_or(const Node& node, std::string_view name, std::size_t count,
                std::int64_t otherwise) {
  if (!node.has(name)) return List(count, otherwise);
  List numbers = node.integers(name);
  if (numbers.size() != count)
    node.fail(ErrorCode::kShape,
              fmt::format("{} has {} numbers, expected {}", name, numbers.size(), count));
  for (const std::int64_t n : numbers)
    if (n < -kMostSteps || n > kMostSteps)
      node.fail(ErrorCode::kShape, fmt::format("{} has {}, which is beyond 2^30", name, n));
  return numbers;
}

// The window of a node with this kernel.
struct Window {
  Convolution how;
  List kernel;
  std::string auto_pad;

  Window(const Node& node, List sizes) : kernel(std::move(sizes)) {
    const std::size_t rank = kernel.size();
    how.stride = numbers_or(node, "strides", rank, 1);
    how.dilation = numbers_or(node, "dilations", rank, 1);
    for (const auto& [name, list] :
         {std::pair{"strides", &how.stride}, {"dilations", &how.dilation}})
      if (std::any_of(list->begin(), list->end(), [](std::int64_t n) { return n < 1; }))
        node.fail(ErrorCode::kInvalidArgument, fmt::format("{} must be 1 or more", name));
    const List pads = numbers_or(node, "pads", 2 * rank, 0);
    how.low.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
    how.high.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
    auto_pad = node.text("auto_pad", "NOTSET");
    if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" &&
        auto_pad != "SAME_LOWER")
      node.fail(ErrorCode::kInvalidArgument,
                fmt::format("auto_pad is {}, expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                            auto_pad));
    if (auto_pad == "VALID") {
      how.low.assign(rank, 0);
      how.high.assign(rank, 0);
    }
    for (const std::int64_t k : kernel)
      if (k > kMostSteps)
        node.fail(ErrorCode::kShape, fmt::format("a kernel of {} elements in a dimension", k));
  }

  bool is_same() const { return auto_pad.starts_with("SAME"); }
  std::int64_t extent(std::size_t d) const { return (kernel[d] - 1) * how.dilation[d] + 1; }
  // An odd element of the padding is at the end, or at the beginning.
  void pad(std::size_t d, std::int64_t total, bool more_at_end) {
    const std::int64_t less = total / 2;
    how.low[d] = more_at_end ? less : total - less;
    how.high[d] = total - how.low[d];
  }
};

// The kernel in the weight, which the attribute must repeat.
List kernel_of(const Node& node, const Value& x, const Value& w) {
  const Shape shape = w.shape();
  if (shape.rank() < 3 || x.rank() != shape.rank())
    node.fail(ErrorCode::kShape,
              fmt::format("expected an input and a weight with the same number of spatial "
                          "dimensions, got {} and {}",
                          to_string(x.type()), to_string(w.type())));
  const List kernel(shape.begin() + 2, shape.end());
  if (node.has("kernel_shape") && node.integers("kernel_shape") != kernel)
    node.fail(ErrorCode::kShape,
              fmt::format("kernel_shape is not that of the weight, {}", to_string(w.type())));
  return kernel;
}

Convolution conv_window(const Node& node, const Value& x, const Value& w) {
  Window window(node, kernel_of(node, x, w));
  window.how.groups = node.integer("group", 1);
  const Shape shape = x.shape();
  for (std::size_t d = 0; window.is_same() && d < window.kernel.size(); ++d) {
    const std::int64_t size = shape[d + 2], stride = window.how.stride[d];
    // One position for each `stride` elements that were begun.
    const std::int64_t last = size == 0 ? 0 : (size - 1) / stride * stride;
    window.pad(d, std::max<std::int64_t>(last + window.extent(d) - size, 0),
               window.auto_pad == "SAME_UPPER");
  }
  return window.how;
}

Values import_conv(Node& node) {
  const Value x = node.input(0), w = node.input(1);
  return {conv(x, w, node.optional_input(2), conv_window(node, x, w))};
}

Values import_conv_transpose(Node& node) {
  const Value x = node.input(0), w = node.input(1);
  Window window(node, kernel_of(node, x, w));
  window.how.groups = node.integer("group", 1);
  const std::size_t rank = window.kernel.size();
  const List added = numbers_or(node, "output_padding", rank, 0);
  List wanted(rank, -1);
  if (node.has("output_shape")) {
    wanted = node.integers("output_shape");
    // Some models have the batch and the channels in it, too.
    if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (wanted.size() != rank)
      node.fail(ErrorCode::kShape,
                fmt::format("output_shape has {} numbers, expected {}", wanted.size(), rank));
  }
  const Shape shape = x.shape();
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t size = shape[d + 2], stride = window.how.stride[d];
    if (size < 1 || size > kMostSteps || wanted[d] > kMostSteps)
      node.fail(ErrorCode::kShape, fmt::format("spatial dimension {} is 0, or beyond 2^30", d));
    if (wanted[d] < 0 && window.is_same()) wanted[d] = size * stride;
    if (wanted[d] >= 0)
      window.pad(d, stride * (size - 1) + added[d] + window.extent(d) - wanted[d],
                 window.auto_pad == "SAME_UPPER" || window.auto_pad == "NOTSET");
    window.how.high[d] -= added[d];
  }
  return {conv_transpose(x, w, node.optional_input(2), window.how)};
}

Values import_col2im(Node& node) {
  const List size = node.known_integers(1), kernel = node.known_integers(2);
  if (kernel.size() != size.size())
    node.fail(ErrorCode::kShape, fmt::format("image_shape has {} numbers, block_shape has {}",
                                             size.size(), kernel.size()));
  const Window window(node, kernel);
  return {col2im(node.input(0), size, kernel, window.how)};
}

// The numbers minus their zero point, as f64: products of them and sums of 2^37 of these are exact.
Value exact_without_zero_point(Node& node, std::size_t input, std::size_t zero_point) {
  const Value x = node.input(input);
  if (x.dtype() != Dtype::kI8 && x.dtype() != Dtype::kU8)
    node.fail(ErrorCode::kDtype,
              fmt::format("input {} is {}, expected i8 or u8", input, to_string(x.type())));
  Value wide = cast(x, Dtype::kF64);
  Value zero = node.optional_input(zero_point);
  if (!zero) return wide;
  // One number; or, of a weight, one for each output.
  if (zero.shape().elements() == 1) {
    zero = reshape(zero, {});
  } else {
    Shape aligned{zero.shape().elements()};
    while (aligned.rank() < x.rank()) aligned = aligned.insert(aligned.rank(), 1);
    zero = reshape(zero, aligned);
  }
  return wide - cast(zero, Dtype::kF64);
}

Values import_conv_integer(Node& node) {
  const Value x = exact_without_zero_point(node, 0, 2), w = exact_without_zero_point(node, 1, 3);
  return {cast(conv(x, w, {}, conv_window(node, x, w)), Dtype::kI32)};
}

constexpr NodeOp kConvolutionOperators[] = {
    {.name = "Conv", .meaning = "conv", .import = import_conv},
    {.name = "ConvTranspose", .meaning = "conv_transpose", .import = import_conv_transpose},
    {.name = "ConvInteger",
     .since = 10,
     .meaning = "conv of whole numbers in f64, which is exact",
     .import = import_conv_integer},
    {.name = "Col2Im", .since = 18, .meaning = "col2im", .import = import_col2im},
};

}  // namespace

constexpr std::span<const NodeOp> convolution_operators = kConvolutionOperators;

}  // namespace limpid::onnx::detail
