// Operators that slice, split, pad, concatenate and select.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/counts.h"
#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t signed_axis(std::size_t axis) { return static_cast<std::int64_t>(axis); }

Values import_concat(Node& node) { return {concatenate(node.inputs(), node.integer("axis", 1))}; }

// ---- split

// Sizes of the parts: given, or equal except for the last, which is the smallest.
Numbers parts_of(const Node& node, std::int64_t size) {
  if (const auto given = node.known_integers("split", 1)) return *given;
  const auto outputs = static_cast<std::int64_t>(node.output_count());
  const std::int64_t count = node.integer("num_outputs", outputs);
  if (count != outputs || count < 1)
    node.fail(ErrorCode::kFormat,
              fmt::format("num_outputs is {}, but the node has {} outputs", count, outputs));
  const std::int64_t part = size / count + (size % count > 0 ? 1 : 0);
  Numbers parts;
  for (std::int64_t i = 0; i < count; ++i)
    parts.push_back(std::clamp<std::int64_t>(size - i * part, 0, part));
  return parts;
}

Values import_split(Node& node) {
  const Value x = node.input(0);
  const std::size_t axis = normalize_axis(node.integer("axis", 0), x.rank(), "axis");
  const std::int64_t size = x.shape()[axis];
  Values parts;
  std::int64_t start = 0;
  for (const std::int64_t part : parts_of(node, size)) {
    if (part < 0 || part > size - start)
      node.fail(ErrorCode::kShape, "the sizes of the parts do not add up to the dimension");
    parts.push_back(slice(x, signed_axis(axis), start, start + part));
    start += part;
  }
  if (start != size)
    node.fail(ErrorCode::kShape, "the sizes of the parts do not add up to the dimension");
  return parts;
}

// ---- slice

struct Range {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
};

// Converts indices counted from the end and clamps them to the axis. For a negative step, the end
// may be -1, the position before the first element.
Range within(const Range& r, std::int64_t size) {
  const auto cut = [&](std::int64_t place, std::int64_t lowest, std::int64_t highest) {
    return std::clamp(place < 0 ? place + size : place, lowest, std::max(lowest, highest));
  };
  if (r.step > 0) return {cut(r.start, 0, size), cut(r.end, 0, size), r.step};
  const std::int64_t end = cut(r.end, -1, size - 1);
  return {size == 0 ? end : cut(r.start, 0, size - 1), end, r.step};
}

std::int64_t count_of(const Range& r) {
  const std::int64_t way = r.step > 0 ? r.end - r.start : r.start - r.end;
  // The step is not negated: the lowest i64 has no negative.
  const std::uint64_t stride =
      r.step > 0 ? static_cast<std::uint64_t>(r.step) : 0 - static_cast<std::uint64_t>(r.step);
  if (way <= 0) return 0;
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(way) - 1) / stride + 1);
}

// Elements start, start + step, ... of an axis, `count` of them.
Value every(const Node& node, Value x, std::size_t axis, const Range& r) {
  const std::int64_t size = x.shape()[axis];
  const std::int64_t count = count_of(r);
  if (count == 0) return slice(x, signed_axis(axis), 0, 0);
  if (r.step > 0) {
    const Shape shape = x.shape();
    Numbers starts(x.rank(), 0);
    Numbers limits(shape.begin(), shape.end());
    Numbers strides(x.rank(), 1);
    starts[axis] = r.start;
    limits[axis] = r.end;
    strides[axis] = std::min(r.step, std::max<std::int64_t>(size, 1));
    return slice(x, starts, limits, strides);
  }
  const std::int64_t step = std::max(r.step, -std::max<std::int64_t>(size, 1));
  const Value places =
      counting(node, count, Dtype::kI64) * constant(node.builder(), Tensor::scalar(step)) +
      constant(node.builder(), Tensor::scalar(r.start));
  return gather_along(x, places, signed_axis(axis));
}

Values import_slice(Node& node) {
  Value x = node.input(0);
  const bool attributes = node.version() < 10;
  const Numbers starts = attributes ? node.integers("starts") : node.known_integers(1);
  const Numbers ends = attributes ? node.integers("ends") : node.known_integers(2);
  Numbers axes = node.known_integers("axes", 3).value_or(Numbers());
  Numbers steps = node.has_input(4) ? node.known_integers(4) : Numbers(starts.size(), 1);
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(signed_axis(i));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    node.fail(ErrorCode::kShape,
              fmt::format("{} starts, {} ends, {} axes, {} steps; expected equal counts",
                          starts.size(), ends.size(), axes.size(), steps.size()));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) node.fail(ErrorCode::kInvalidArgument, "a step is 0");
    const std::size_t axis = normalize_axis(axes[i], x.rank(), "axes");
    x = every(node, x, axis, within({starts[i], ends[i], steps[i]}, x.shape()[axis]));
  }
  return {x};
}

// ---- pad

// How positions outside of x are filled.
enum class Fill { kConstant, kReflect, kEdge, kWrap };

Fill fill_of(const Node& node) {
  const std::string mode = node.text("mode", "constant");
  if (mode == "constant") return Fill::kConstant;
  if (mode == "reflect") return Fill::kReflect;
  if (mode == "edge") return Fill::kEdge;
  if (mode == "wrap") return Fill::kWrap;
  node.fail(ErrorCode::kUnsupported, "expected the mode constant, reflect, edge or wrap");
}

// The remainder of division by a positive number, never negative.
Value modulo(Value x, std::int64_t by) {
  const Value divisor = constant(x.builder(), Tensor::scalar(by));
  return fmod(fmod(x, divisor) + divisor, divisor);
}

// Places -low, ..., size + high - 1 of an axis, those outside led back into it.
Value places(const Node& node, std::int64_t size, std::int64_t low, std::int64_t count, Fill fill) {
  const auto number = [&](std::int64_t n) { return constant(node.builder(), Tensor::scalar(n)); };
  const Value at = counting(node, count, Dtype::kI64) - number(low);
  switch (fill) {
    case Fill::kEdge:
      return minimum(maximum(at, number(0)), number(size - 1));
    case Fill::kWrap:
      return modulo(at, size);
    default:
      break;
  }
  // The period of a reflection that does not repeat the ends.
  const std::int64_t period = std::max<std::int64_t>(1, 2 * (size - 1));
  const Value there = modulo(at, period);
  return minimum(there, number(period) - there);
}

// Padding per axis; negative numbers remove elements.
struct Padding {
  Numbers low;
  Numbers high;
};

Padding padding_of(const Node& node, std::size_t rank) {
  const std::string_view attribute = node.has("paddings") ? "paddings" : "pads";
  const Numbers pads = node.known_integers(attribute, 1).value_or(Numbers());
  Numbers axes;
  if (node.has_input(3))
    axes = node.known_integers(3);
  else
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(signed_axis(i));
  if (pads.size() != 2 * axes.size())
    node.fail(ErrorCode::kShape, fmt::format("{} pads for {} axes", pads.size(), axes.size()));
  Padding padding{Numbers(rank, 0), Numbers(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    const std::size_t axis = normalize_axis(axes[i], rank, "axes");
    padding.low[axis] = pads[i];
    padding.high[axis] = pads[axes.size() + i];
    if (std::min(pads[i], padding.high[axis]) < -kMost ||
        std::max(pads[i], padding.high[axis]) > kMost)
      node.fail(ErrorCode::kShape, "pads of more than 2^40");
  }
  return padding;
}

// x after negative paddings have removed elements; they are then 0.
Value crop(const Node& node, Value x, Padding& padding) {
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t start = -std::min<std::int64_t>(padding.low[axis], 0);
    const std::int64_t end = x.shape()[axis] + std::min<std::int64_t>(padding.high[axis], 0);
    if (start > end)
      node.fail(ErrorCode::kShape, "negative pads remove more than the dimension has");
    if (start > 0 || end < x.shape()[axis]) x = slice(x, signed_axis(axis), start, end);
    padding.low[axis] = std::max<std::int64_t>(padding.low[axis], 0);
    padding.high[axis] = std::max<std::int64_t>(padding.high[axis], 0);
  }
  return x;
}

// The op pad takes neither bools nor bytes: they go through i32.
Value pad_with(Value x, const Padding& padding, double value) {
  const Numbers none(x.rank(), 0);
  const Dtype dtype = x.dtype();
  if (dtype != Dtype::kBool && dtype != Dtype::kU8 && dtype != Dtype::kI8)
    return pad(x, padding.low, padding.high, none, value);
  return cast(pad(cast(x, Dtype::kI32), padding.low, padding.high, none, value), dtype);
}

Values import_pad(Node& node) {
  Value x = node.input(0);
  Padding padding = padding_of(node, x.rank());
  const Fill fill = fill_of(node);
  x = crop(node, x, padding);
  if (fill == Fill::kConstant) {
    const double value = node.has_input(2) ? node.known_real(2) : node.real("value", 0);
    return {pad_with(x, padding, value)};
  }
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t size = x.shape()[axis];
    const std::int64_t low = padding.low[axis];
    const std::int64_t high = padding.high[axis];
    if (low == 0 && high == 0) continue;
    if (size == 0) node.fail(ErrorCode::kShape, "an empty dimension cannot be padded");
    x = gather_along(x, places(node, size, low, size + low + high, fill), signed_axis(axis));
  }
  return {x};
}

// ---- chosen elements

// The elements where the condition is true; the condition must be known at import.
Values import_compress(Node& node) {
  Value x = node.input(0);
  if (!node.has("axis")) x = reshape(x, {x.shape().elements()});
  const std::size_t axis = normalize_axis(node.integer("axis", 0), x.rank(), "axis");
  const Tensor condition = node.known(1);
  const std::span<const bool> kept = condition.values<bool>();
  Numbers places;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) places.push_back(signed_axis(i));
  if (const std::int64_t size = x.shape()[axis]; !places.empty() && places.back() >= size)
    node.fail(
        ErrorCode::kShape,
        fmt::format("the condition is true at {}, expected places below {}", places.back(), size));
  return {gather_along(x,
                       constant(node.builder(), Tensor::from({signed_axis(places.size())}, places)),
                       signed_axis(axis))};
}

// Of a known tensor: [rank, count], the places in order.
Values import_non_zero(Node& node) {
  const Shape shape = node.input(0).shape();
  const Tensor kept = node.known(cast(node.input(0), Dtype::kBool));
  Numbers places;
  for (std::int64_t i = 0; i < kept.elements(); ++i)
    if (kept.values<bool>()[static_cast<std::size_t>(i)]) places.push_back(i);
  const auto count = signed_axis(places.size());
  const auto rank = signed_axis(shape.rank());
  return {constant(node.builder(),
                   Tensor::generate<std::int64_t>({rank, count}, [&](std::span<std::int64_t> out) {
                     for (std::size_t c = 0; c < places.size(); ++c)
                       for (std::size_t axis = shape.rank(); axis-- > 0;) {
                         out[axis * places.size() + c] = places[c] % shape[axis];
                         places[c] /= shape[axis];
                       }
                   }))};
}

constexpr NodeOp kSlicingOperators[] = {
    {.name = "Compress",
     .since = 9,
     .meaning = "take; condition known at import",
     .import = import_compress},
    {.name = "Concat", .meaning = "concatenate", .import = import_concat},
    {.name = "NonZero",
     .since = 9,
     .meaning = "constant; tensor known at import",
     .import = import_non_zero},
    {.name = "Pad", .meaning = "slice and pad, or take", .import = import_pad},
    {.name = "Slice", .meaning = "slice, or take if a step is negative", .import = import_slice},
    {.name = "Split", .meaning = "slice", .import = import_split},
};

}  // namespace

constexpr std::span<const NodeOp> slicing_operators = kSlicingOperators;

}  // namespace limpid::onnx::detail
