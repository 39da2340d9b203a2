#include "limpid/ops/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using List = std::vector<std::int64_t>;

// The resizing of one dimension of m elements to n.
struct ResizeAxis {
  std::int64_t m, n;
  double scale;  // 0: n / m
  double begin, end;
  const ResizeOptions& options;

  // i / scale.
  double over_scale(double i) const {
    return scale == 0 ? i * static_cast<double>(m) / static_cast<double>(n) : i / scale;
  }
  // How much smaller the result is; 1 if it is larger.
  double shrinking() const {
    const double s = scale == 0 ? static_cast<double>(n) / static_cast<double>(m) : scale;
    return std::min(s, 1.0);
  }

  double coordinate(std::int64_t result) const {
    const auto i = static_cast<double>(result);
    const auto last = static_cast<double>(m - 1);
    const double length = scale == 0 ? static_cast<double>(n) : scale * static_cast<double>(m);
    switch (options.coordinates) {
      case ResizeCoordinates::kHalfPixel:
        return over_scale(i + 0.5) - 0.5;
      case ResizeCoordinates::kHalfPixelSymmetric:
        return static_cast<double>(m) / 2 * (1 - static_cast<double>(n) / length) +
               over_scale(i + 0.5) - 0.5;
      case ResizeCoordinates::kPytorchHalfPixel:
        return length > 1 ? over_scale(i + 0.5) - 0.5 : 0;
      case ResizeCoordinates::kAlignCorners:
        return length == 1 ? 0 : i * last / (length - 1);
      case ResizeCoordinates::kAsymmetric:
        return over_scale(i);
      case ResizeCoordinates::kTfHalfPixelForNn:
        return over_scale(i + 0.5);
      case ResizeCoordinates::kCrop:
        break;
    }
    if (length == 1) return (begin + end) / 2 * last;
    return begin * last + i * (end - begin) * last / (length - 1);
  }
};

std::int64_t nearest_place(double c, NearestMode mode) {
  const double below = std::floor(c);
  double place = std::ceil(c);
  if (mode == NearestMode::kFloor || (mode == NearestMode::kRoundPreferFloor && c - below <= 0.5) ||
      (mode == NearestMode::kRoundPreferCeil && c - below < 0.5))
    place = below;
  return static_cast<std::int64_t>(place);
}

// The triangle, and Keys' cubic: Cubic Convolution Interpolation (1981), equation 15.
double filter_at(double x, const ResizeOptions& options) {
  x = std::fabs(x);
  if (options.mode == ResizeMode::kLinear) return std::max(0.0, 1 - x);
  const double a = options.cubic;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The elements of one result and their weights; none where the result is outside.
std::map<std::int64_t, double> weights_of(const ResizeAxis& axis, std::int64_t result) {
  const double last = static_cast<double>(axis.m - 1);
  double c = axis.coordinate(result);
  std::map<std::int64_t, double> weights;
  if (axis.options.coordinates == ResizeCoordinates::kCrop && !(c >= 0 && c <= last))
    return weights;
  const auto inside = [&](std::int64_t place) {
    return std::clamp<std::int64_t>(place, 0, axis.m - 1);
  };
  // Far outside all elements are the nearest one inside. Of extreme scales c is no number.
  c = std::isnan(c) ? 0 : std::clamp(c, -last - 4, 2 * last + 4);
  if (axis.options.mode == ResizeMode::kNearest)
    return {{inside(nearest_place(c, axis.options.nearest)), 1.0}};
  const double narrow = axis.options.antialias ? axis.shrinking() : 1;
  const double reach = (axis.options.mode == ResizeMode::kLinear ? 1 : 2) / narrow;
  // No element beyond 4 m counts, whatever the scale.
  const double most = 4 * static_cast<double>(axis.m) + 4;
  const auto first = static_cast<std::int64_t>(std::floor(c - std::min(reach, most)));
  const auto end = static_cast<std::int64_t>(std::ceil(c + std::min(reach, most)));
  double total = 0;
  for (std::int64_t place = first; place <= end; ++place) {
    if (axis.options.exclude_outside && place != inside(place)) continue;
    const double weight = filter_at((static_cast<double>(place) - c) * narrow, axis.options);
    if (weight == 0) continue;
    weights[inside(place)] += weight;
    total += weight;
  }
  if (axis.options.antialias || axis.options.exclude_outside)
    for (auto& [place, weight] : weights) weight /= total;
  return weights;
}

// x (outer, m, inner) to (outer, n, inner).
Value resize_middle(const Value& x, const ResizeAxis& axis) {
  constexpr std::int64_t kMostWeights = std::int64_t{1} << 24;
  std::vector<std::map<std::int64_t, double>> all;
  std::size_t most = 1;
  for (std::int64_t i = 0; i < axis.n; ++i) {
    all.push_back(weights_of(axis, i));
    most = std::max(most, all.back().size());
    if (static_cast<std::int64_t>(most) > kMostWeights / axis.n)
      throw Error(ErrorCode::kShape,
                  fmt::format("resize: {} results of {} elements each are too many", axis.n, most));
  }
  const bool any_outside =
      std::any_of(all.begin(), all.end(), [](const auto& weights) { return weights.empty(); });
  const std::int64_t outer = x.shape()[0];
  const Shape column{1, axis.n, 1};
  Value y;
  for (std::size_t t = 0; t < most; ++t) {
    std::vector<std::int64_t> places(all.size(), -1);
    std::vector<double> weights(all.size(), 0);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (t < all[i].size()) {
        const auto& [place, weight] = *std::next(all[i].begin(), static_cast<std::ptrdiff_t>(t));
        places[i] = place;
        weights[i] = weight;
      }
    const Value numbers = constant(x.builder(), Tensor::from({axis.n}, places));
    const Value terms = gather(x, broadcast(numbers, {outer, axis.n}), 1);
    if (axis.options.mode == ResizeMode::kNearest && !any_outside) return terms;
    const Value weight = cast(constant(x.builder(), Tensor::from(column, weights)), x.dtype());
    y = t == 0 ? terms * weight : y + terms * weight;
  }
  if (!any_outside) return y;
  std::vector<double> kept(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) kept[i] = all[i].empty() ? 0 : 1;
  const Value inside = cast(constant(x.builder(), Tensor::from(column, kept)), Dtype::kBool);
  return select(broadcast(inside, y.shape()), y, number_like(y, axis.options.outside));
}

void check_resize(const Value& x, const List& sizes, const ResizeOptions& o) {
  const auto fits = [&](const std::vector<double>& numbers) {
    return numbers.empty() || numbers.size() == sizes.size();
  };
  if (sizes.empty() || sizes.size() > x.rank() || !fits(o.scales) || !fits(o.begin) ||
      o.begin.size() != o.end.size())
    throw Error(ErrorCode::kShape,
                fmt::format("resize: {} sizes, {} scales, {} begins, {} ends; expected one of each "
                            "for each of the last dimensions of {}, or no scales, begins, ends",
                            sizes.size(), o.scales.size(), o.begin.size(), o.end.size(),
                            to_string(x.type())));
  if ((o.mode != ResizeMode::kNearest || o.coordinates == ResizeCoordinates::kCrop) &&
      !is_computed_with(x.dtype()))
    throw Error(ErrorCode::kDtype,
                fmt::format("resize: input is {}, expected f32 or f64", to_string(x.type())));
  for (const double scale : o.scales)
    if (!(scale > 0) || !std::isfinite(scale))
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("resize: a scale is {}, expected a positive number", scale));
  for (const auto& numbers : {o.begin, o.end, std::vector{o.cubic, o.outside}})
    for (const double number : numbers)
      if (!std::isfinite(number))
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("resize: got {}, expected a finite number", number));
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < 0 || (x.shape()[x.rank() - sizes.size() + d] == 0 && sizes[d] != 0))
      throw Error(ErrorCode::kShape,
                  fmt::format("resize: dimension {} of {} cannot get {} elements",
                              x.rank() - sizes.size() + d, to_string(x.type()), sizes[d]));
}

}  // namespace

Value resize(Value x, const std::vector<std::int64_t>& sizes, const ResizeOptions& options) {
  check_resize(x, sizes, options);
  for (std::size_t d = sizes.size(); d-- > 0;) {
    const std::size_t at = x.rank() - sizes.size() + d;
    const std::int64_t m = x.shape()[at], n = sizes[d];
    const double scale = options.scales.empty() ? 0 : options.scales[d];
    const bool whole = options.coordinates != ResizeCoordinates::kCrop || options.begin.empty() ||
                       (options.begin[d] == 0 && options.end[d] == 1);
    // Elements that stay are not touched.
    if (m == n && (scale == 0 || scale == 1) && whole) continue;
    if (n == 0) {
      x = slice(x, static_cast<std::int64_t>(at), 0, 0);
      continue;
    }
    const ResizeAxis axis{m,
                          n,
                          scale,
                          options.begin.empty() ? 0 : options.begin[d],
                          options.end.empty() ? 1 : options.end[d],
                          options};
    const Shape shape = x.shape();
    const std::int64_t outer = Shape(shape.dims().first(at)).elements();
    const std::int64_t inner = Shape(shape.dims().subspan(at + 1)).elements();
    // Rows of one element are slow to move: of the last dimension its elements become rows.
    if (inner == 1)
      x = transpose(
          resize_middle(reshape(transpose(reshape(x, {outer, m}), {1, 0}), {1, m, outer}), axis),
          {2, 1, 0});
    else
      x = resize_middle(reshape(x, {outer, m, inner}), axis);
    x = reshape(x, shape.replace(at, n));
  }
  return x;
}

}  // namespace limpid
