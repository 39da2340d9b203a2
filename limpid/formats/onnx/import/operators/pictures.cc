// Operators on pictures: resizing, sampling, cropping.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/picture.h"
#include "limpid/ops/resize.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

using Numbers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// One of a few texts as a value.
template <class T>
T choice(const Node& node, std::string_view name, std::string_view otherwise,
         std::initializer_list<std::pair<std::string_view, T>> choices) {
  const std::string text = node.text(name, otherwise);
  for (const auto& [known, value] : choices)
    if (text == known) return value;
  node.fail(ErrorCode::kUnsupported, fmt::format("{} '{}'", name, text));
}

// ---- resizing

// The numbers of a known f32 or f64 tensor; nothing if the input is omitted or empty.
Reals known_reals(const Node& node, std::size_t input) {
  if (!node.has_input(input)) return {};
  const Tensor values = node.known(cast(node.input(input), Dtype::kF64));
  return {values.values<double>().begin(), values.values<double>().end()};
}

std::int64_t size_after(const Node& node, std::int64_t size, double scale, bool rounded) {
  const double wanted = static_cast<double>(size) * scale;
  const double result = rounded ? std::floor(wanted + 0.5) : std::floor(wanted);
  if (!(scale > 0) || !(result >= 0) || !(result < 0x1p40))
    node.fail(ErrorCode::kShape, fmt::format("a dimension of {} with the scale {}", size, scale));
  return static_cast<std::int64_t>(result);
}

// Sizes of the resized dimensions, and of all of them one scale if the aspect ratio is kept.
struct Target {
  Numbers sizes;
  Reals scales;
};
Target target_of(const Node& node, const Numbers& given, const Numbers& axes, const Shape& x) {
  Target target{given, {}};
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return target;
  if (policy != "not_larger" && policy != "not_smaller")
    node.fail(ErrorCode::kUnsupported, fmt::format("keep_aspect_ratio_policy '{}'", policy));
  double scale = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double each =
        static_cast<double>(given[i]) / static_cast<double>(x[static_cast<std::size_t>(axes[i])]);
    const bool takes = policy == "not_larger" ? each < scale : each > scale;
    if (i == 0 || takes) scale = each;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    target.sizes[i] = size_after(node, x[static_cast<std::size_t>(axes[i])], scale, true);
    target.scales.push_back(scale);
  }
  return target;
}

ResizeOptions resize_options(const Node& node) {
  using C = ResizeCoordinates;
  const bool old = node.version() < 11;
  ResizeOptions o;
  o.mode = choice<ResizeMode>(node, "mode", "nearest",
                              {{"nearest", ResizeMode::kNearest},
                               {"linear", ResizeMode::kLinear},
                               {"bilinear", ResizeMode::kLinear},
                               {"cubic", ResizeMode::kCubic}});
  o.coordinates = old ? C::kAsymmetric
                      : choice<C>(node, "coordinate_transformation_mode", "half_pixel",
                                  {{"half_pixel", C::kHalfPixel},
                                   {"half_pixel_symmetric", C::kHalfPixelSymmetric},
                                   {"pytorch_half_pixel", C::kPytorchHalfPixel},
                                   {"align_corners", C::kAlignCorners},
                                   {"asymmetric", C::kAsymmetric},
                                   {"tf_half_pixel_for_nn", C::kTfHalfPixelForNn},
                                   {"tf_crop_and_resize", C::kCrop}});
  o.nearest = old ? NearestMode::kFloor
                  : choice<NearestMode>(node, "nearest_mode", "round_prefer_floor",
                                        {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
                                         {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
                                         {"floor", NearestMode::kFloor},
                                         {"ceil", NearestMode::kCeil}});
  o.antialias = node.flag("antialias", false) && o.mode != ResizeMode::kNearest;
  o.cubic = node.real("cubic_coeff_a", -0.75);
  o.exclude_outside = node.flag("exclude_outside", false);
  o.outside = node.real("extrapolation_value", 0);
  return o;
}

// resize() of these dimensions: they are moved to the end and back, but for those that stay.
Value resize_axes(const Node& node, Value x, Numbers axes, Target target, ResizeOptions o,
                  const Reals& roi) {
  const std::size_t rank = x.rank(), count = axes.size();
  if (target.sizes.size() != count || (!target.scales.empty() && target.scales.size() != count) ||
      (!roi.empty() && roi.size() != 2 * count))
    node.fail(ErrorCode::kShape,
              fmt::format("{} sizes, {} scales, {} numbers of the region for {} dimensions",
                          target.sizes.size(), target.scales.size(), roi.size(), count));
  const bool crop = o.coordinates == ResizeCoordinates::kCrop;
  std::vector<bool> moves(rank);
  Numbers last, sizes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = normalize_axis(axes[i], rank, "axes");
    if (moves[axis]) node.fail(ErrorCode::kShape, "axes name a dimension twice");
    const double begin = roi.empty() ? 0 : roi[i], end = roi.empty() ? 1 : roi[count + i];
    const double scale = target.scales.empty() ? 0 : target.scales[i];
    const bool stays = target.sizes[i] == x.shape()[axis] && (scale == 0 || scale == 1) &&
                       (!crop || (begin == 0 && end == 1));
    if (stays) continue;
    moves[axis] = true;
    last.push_back(static_cast<std::int64_t>(axis));
    sizes.push_back(target.sizes[i]);
    if (!target.scales.empty()) o.scales.push_back(scale);
    if (crop) {
      o.begin.push_back(begin);
      o.end.push_back(end);
    }
  }
  if (last.empty()) return x;
  Numbers order;
  for (std::size_t d = 0; d < rank; ++d)
    if (!moves[d]) order.push_back(static_cast<std::int64_t>(d));
  order.insert(order.end(), last.begin(), last.end());
  Numbers back(rank);
  for (std::size_t d = 0; d < rank; ++d)
    back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  const bool narrow = !is_floating(x.dtype()) && o.mode != ResizeMode::kNearest;
  const Dtype dtype = x.dtype();
  if (narrow) x = cast(x, Dtype::kF32);
  const Value y = transpose(resize(transpose(x, order), sizes, o), back);
  return narrow ? cast(round(y), dtype) : y;
}

Numbers all_axes(std::size_t rank) {
  Numbers axes;
  for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
  return axes;
}

// Version 10 has scales alone, as its second input.
Values import_resize(Node& node) {
  const Value x = node.input(0);
  const bool old = node.version() < 11;
  Numbers axes = node.has("axes") ? node.integers("axes") : all_axes(x.rank());
  for (std::int64_t& axis : axes)
    axis = static_cast<std::int64_t>(normalize_axis(axis, x.rank(), "axes"));
  const Reals scales = known_reals(node, old ? 1 : 2);
  const ResizeOptions o = resize_options(node);
  const Reals roi =
      old || o.coordinates != ResizeCoordinates::kCrop ? Reals() : known_reals(node, 1);
  if (!scales.empty()) {
    Target target{{}, scales};
    for (std::size_t i = 0; i < scales.size() && i < axes.size(); ++i)
      target.sizes.push_back(
          size_after(node, x.shape()[static_cast<std::size_t>(axes[i])], scales[i], false));
    return {resize_axes(node, x, axes, target, o, roi)};
  }
  if (old || !node.has_input(3))
    node.fail(ErrorCode::kFormat, "neither scales nor sizes are given");
  const Numbers sizes = node.known_integers(3);
  if (sizes.size() != axes.size())
    node.fail(ErrorCode::kShape,
              fmt::format("{} sizes for {} dimensions", sizes.size(), axes.size()));
  return {resize_axes(node, x, axes, target_of(node, sizes, axes, x.shape()), o, roi)};
}

// Resize's predecessor: asymmetric coordinates, the element before.
Values import_upsample(Node& node) {
  const Value x = node.input(0);
  const Reals scales = node.has("scales") ? node.reals("scales") : known_reals(node, 1);
  Target target{{}, scales};
  if (scales.size() != x.rank())
    node.fail(ErrorCode::kShape,
              fmt::format("{} scales for {}", scales.size(), to_string(x.type())));
  for (std::size_t d = 0; d < x.rank(); ++d)
    target.sizes.push_back(size_after(node, x.shape()[d], scales[d], false));
  ResizeOptions o = resize_options(node);
  o.coordinates = ResizeCoordinates::kAsymmetric;
  o.nearest = NearestMode::kFloor;
  return {resize_axes(node, x, all_axes(x.rank()), target, o, {})};
}

// ---- parts and positions

// Each dimension is cut or padded in the middle; the odd element is at the end.
Values import_center_crop_pad(Node& node) {
  const Value x = node.input(0);
  const Numbers wanted = node.known_integers(1);
  Numbers axes = node.has("axes") ? node.integers("axes") : all_axes(x.rank());
  if (axes.size() != wanted.size())
    node.fail(ErrorCode::kShape,
              fmt::format("{} sizes for {} dimensions", wanted.size(), axes.size()));
  Numbers low(x.rank(), 0), high = low, none = low, starts = low, strides(x.rank(), 1);
  const Shape shape = x.shape();
  Numbers limits(shape.begin(), shape.end());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalize_axis(axes[i], x.rank(), "axes");
    const std::int64_t size = shape[axis];
    if (wanted[i] < 0 || wanted[i] > std::int64_t{1} << 40)
      node.fail(ErrorCode::kShape, fmt::format("a size of {}", wanted[i]));
    if (wanted[i] <= size) {
      starts[axis] = (size - wanted[i]) / 2;
      limits[axis] = starts[axis] + wanted[i];
    } else {
      low[axis] = (wanted[i] - size) / 2;
      high[axis] = wanted[i] - size - low[axis];
    }
  }
  return {pad(slice(x, starts, limits, strides), low, high, none)};
}

Values import_grid_sample(Node& node) {
  GridSampleOptions o;
  o.mode = choice<SampleMode>(node, "mode", node.version() < 20 ? "bilinear" : "linear",
                              {{"nearest", SampleMode::kNearest},
                               {"linear", SampleMode::kLinear},
                               {"bilinear", SampleMode::kLinear},
                               {"cubic", SampleMode::kCubic},
                               {"bicubic", SampleMode::kCubic}});
  o.padding = choice<SamplePadding>(node, "padding_mode", "zeros",
                                    {{"zeros", SamplePadding::kZeros},
                                     {"border", SamplePadding::kBorder},
                                     {"reflection", SamplePadding::kReflection}});
  o.align_corners = node.flag("align_corners", false);
  return {grid_sample(node.input(0), node.input(1), o)};
}

Values import_affine_grid(Node& node) {
  const Value theta = node.input(0);
  const Numbers size = node.known_integers(1);
  if (size.size() < 4 || theta.rank() < 1 || size[0] != theta.shape()[0])
    node.fail(ErrorCode::kShape, fmt::format("theta is {}, size [{}]; expected (N, C, ...)",
                                             to_string(theta.type()), fmt::join(size, ", ")));
  return {affine_grid(theta, {size.begin() + 2, size.end()}, node.flag("align_corners", false))};
}

constexpr NodeOp kPictureOperators[] = {
    {.name = "AffineGrid", .since = 20, .meaning = "affine_grid", .import = import_affine_grid},
    {.name = "CenterCropPad",
     .since = 18,
     .meaning = "slice and pad; sizes known at import",
     .import = import_center_crop_pad},
    {.name = "GridSample", .since = 16, .meaning = "grid_sample", .import = import_grid_sample},
    {.name = "Resize",
     .since = 10,
     .meaning = "resize; scales or sizes known at import",
     .import = import_resize},
    {.name = "Upsample",
     .since = 7,
     .until = 9,
     .meaning = "resize; scales known at import",
     .import = import_upsample},
};

}  // namespace

constexpr std::span<const NodeOp> picture_operators = kPictureOperators;

}  // namespace limpid::onnx::detail
