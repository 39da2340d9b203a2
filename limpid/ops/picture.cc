#include "limpid/ops/picture.h"

#include <fmt/format.h>

#include <array>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/barrier.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/norm.h"
#include "limpid/ops/pool.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using List = std::vector<std::int64_t>;

// The leading dimensions as one, channels, height and width.
struct Picture {
  Picture(const Value& x, std::string_view what) {
    if (x.rank() < 3)
      throw Error(ErrorCode::kShape, fmt::format("{}: input is {}, expected (..., C, H, W)", what,
                                                 to_string(x.type())));
    const Shape shape = x.shape();
    lead = Shape(shape.dims().first(shape.rank() - 3));
    c = shape[shape.rank() - 3];
    h = shape[shape.rank() - 2];
    w = shape[shape.rank() - 1];
  }
  Shape with(std::int64_t channels, std::int64_t height, std::int64_t width) const {
    Shape shape = lead;
    for (const std::int64_t n : {channels, height, width}) shape = shape.insert(shape.rank(), n);
    return shape;
  }

  Shape lead;
  std::int64_t c, h, w;
};

// ---- sampling

// Coordinates along one dimension of `size` elements: 0 is the first element.
struct SampleAxis {
  Value at;
  std::int64_t size;
  const GridSampleOptions& options;
};

// v mirrored at the borders of [low, high] until it is inside.
Value reflected(const Value& v, double low, double high) {
  const double span = high - low;
  if (span <= 0) return number_like(v, 0);
  const Value away = abs(v - low);
  const Value within = fmod(away, 2 * span);
  return minimum(within, 2 * span - within) + low;
}

// The range in which x is mirrored.
std::pair<double, double> mirrors(const SampleAxis& a) {
  const auto last = static_cast<double>(a.size - 1);
  return a.options.align_corners ? std::pair{0.0, last} : std::pair{-0.5, last + 0.5};
}

Value clipped(const Value& v, std::int64_t size) {
  return minimum(maximum(v, 0), static_cast<double>(size - 1));
}

// Nearest and linear sampling move the coordinate itself inside of x; cubic sampling, whose
// elements are further apart, moves each element.
Value moved_inside(const SampleAxis& a) {
  const SamplePadding padding = a.options.padding;
  if (padding == SamplePadding::kZeros || a.options.mode == SampleMode::kCubic) return a.at;
  if (padding == SamplePadding::kBorder) return clipped(a.at, a.size);
  const auto [low, high] = mirrors(a);
  return clipped(reflected(a.at, low, high), a.size);
}

// Elements near each coordinate: their places, as numbers, and weights.
struct Taps1d {
  std::vector<Value> places, weights;
};

// Keys' cubic with a = -0.75 at t - 1, ..., t - 2 for t in [0, 1): the elements before, two around
// and one after.
std::vector<Value> cubic_weights(const Value& t) {
  constexpr double a = -0.75;
  const auto near = [](const Value& x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](const Value& x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

Taps1d taps_along(const SampleAxis& a) {
  const Value c = moved_inside(a);
  if (a.options.mode == SampleMode::kNearest) return {{stop_gradient(round(c))}, {}};
  const Value below = stop_gradient(floor(c));
  const Value t = c - below;
  if (a.options.mode == SampleMode::kLinear) return {{below, below + 1}, {1 - t, t}};
  Taps1d taps{{}, cubic_weights(t)};
  for (const double step : {-1.0, 0.0, 1.0, 2.0}) {
    Value place = below + step;
    if (a.options.padding == SamplePadding::kBorder) place = clipped(place, a.size);
    if (a.options.padding == SamplePadding::kReflection) {
      const auto [low, high] = mirrors(a);
      place = clipped(reflected(place, low, high), a.size);
    }
    taps.places.push_back(place);
  }
  return taps;
}

}  // namespace

Value pixel_shuffle(Value x, std::int64_t r) {
  const Picture p(x, "pixel_shuffle");
  if (r < 1 || r > Shape::kMaxElements / r || p.c % (r * r) != 0)
    throw Error(ErrorCode::kShape,
                fmt::format("pixel_shuffle: the channels of {} are no multiple of the square of {}",
                            to_string(x.type()), r));
  const std::int64_t c = p.c / (r * r);
  const Value apart = reshape(x, {p.lead.elements() * c, r, r, p.h, p.w});
  return reshape(transpose(apart, {0, 3, 1, 4, 2}), p.with(c, p.h * r, p.w * r));
}

Value pixel_unshuffle(Value x, std::int64_t r) {
  const Picture p(x, "pixel_unshuffle");
  if (r < 1 || p.h % r != 0 || p.w % r != 0)
    throw Error(ErrorCode::kShape,
                fmt::format("pixel_unshuffle: height and width of {} are no multiples of {}",
                            to_string(x.type()), r));
  const Value apart = reshape(x, {p.lead.elements() * p.c, p.h / r, r, p.w / r, r});
  return reshape(transpose(apart, {0, 2, 4, 1, 3}), p.with(p.c * r * r, p.h / r, p.w / r));
}

Value local_response_norm(Value x, std::int64_t size, double alpha, double beta, double k) {
  if (x.rank() < 2)
    throw Error(
        ErrorCode::kShape,
        fmt::format("local_response_norm: input is {}, expected (N, C, ...)", to_string(x.type())));
  if (size < 1)
    throw Error(
        ErrorCode::kShape,
        fmt::format("local_response_norm: a window of {} channels, expected 1 or more", size));
  const Shape shape = x.shape();
  const std::int64_t rest = Shape(shape.dims().subspan(2)).elements();
  const Value squares = reshape(x * x, {shape[0], shape[1], rest});
  const Value sums = reduce_window_sum(
      squares,
      {.kernel = {size, 1}, .stride = {1, 1}, .low = {size / 2, 0}, .high = {(size - 1) / 2, 0}});
  const Value scale = reshape(sums, shape) * (alpha / static_cast<double>(size)) + k;
  return x / power(scale, beta);
}

Value instance_norm(Value x, Value gamma, Value beta, double eps) {
  if (!gamma != !beta)
    throw Error(ErrorCode::kInvalidArgument, "instance_norm: expected gamma and beta, or neither");
  if (x.rank() < 2)
    throw Error(ErrorCode::kShape, fmt::format("instance_norm: input is {}, expected (N, C, ...)",
                                               to_string(x.type())));
  const std::int64_t channels = x.shape()[1];
  const auto all = [&](double number) {
    return broadcast(constant(x.builder(), number, x.dtype()), {channels});
  };
  return group_norm(x, std::max<std::int64_t>(1, channels), gamma ? gamma : all(1),
                    beta ? beta : all(0), eps);
}

Value grid_sample(Value x, Value grid, const GridSampleOptions& options) {
  const Shape shape = x.shape(), g = grid.shape();
  const std::size_t dims = x.rank() < 2 ? 0 : x.rank() - 2;
  if (dims < 1 || dims > 3 || g.rank() < 2 || g[0] != shape[0] ||
      g.back() != static_cast<std::int64_t>(dims))
    throw Error(
        ErrorCode::kShape,
        fmt::format("grid_sample: x is {}, grid {}; expected (N, C, 1 to 3 dimensions), and "
                    "a grid (N, ..., a coordinate for each of them)",
                    to_string(x.type()), to_string(grid.type())));
  if (!is_computed_with(x.dtype()) || grid.dtype() != x.dtype())
    throw Error(ErrorCode::kDtype,
                fmt::format("grid_sample: x is {}, grid {}; expected both f32 or both f64",
                            to_string(x.type()), to_string(grid.type())));
  const std::int64_t n = shape[0], channels = shape[1];
  const std::int64_t plane = Shape(shape.dims().subspan(2)).elements();
  Shape result{n, channels};
  for (std::size_t d = 1; d + 1 < g.rank(); ++d) result = result.insert(result.rank(), g[d]);
  const std::int64_t points = Shape(g.dims().subspan(1, g.rank() - 2)).elements();
  const Value flat = reshape(grid, {n, points, static_cast<std::int64_t>(dims)});
  std::vector<Taps1d> taps;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t size = shape[2 + d];
    const auto from = static_cast<std::int64_t>(dims - 1 - d);
    const Value u = reshape(slice(flat, 2, from, from + 1), {n, points});
    const auto length = static_cast<double>(size);
    const Value at =
        options.align_corners ? (u + 1) * ((length - 1) / 2) : ((u + 1) * length - 1) * 0.5;
    taps.push_back(taps_along({at, size, options}));
  }
  // Rows of channels, by the place of their pixel.
  const Value rows = transpose(reshape(x, {n, channels, plane}), {0, 2, 1});
  const std::size_t each = taps[0].places.size();
  std::size_t count = 1;
  for (std::size_t d = 0; d < dims; ++d) count *= each;
  Value y;
  for (std::size_t i = 0; i < count; ++i) {
    Value place, weight, outside;
    std::size_t digits = i;
    for (std::size_t d = dims; d-- > 0; digits /= each) {
      const Taps1d& axis = taps[d];
      const std::size_t t = digits % each;
      const auto size = static_cast<double>(shape[2 + d]);
      const Value out_here = logical_not(logical_and(
          less_equal(number_like(axis.places[t], 0), axis.places[t]), less(axis.places[t], size)));
      outside = outside ? logical_not(logical_and(logical_not(outside), logical_not(out_here)))
                        : out_here;
      const Value number = cast(axis.places[t], Dtype::kI64);
      std::int64_t step = 1;
      for (std::size_t later = d + 1; later < dims; ++later) step *= shape[2 + later];
      const Value along =
          number * broadcast(constant(x.builder(), Tensor::scalar(step)), number.shape());
      place = place ? place + along : along;
      if (!axis.weights.empty()) weight = weight ? axis.weights[t] * weight : axis.weights[t];
    }
    const Value nowhere =
        broadcast(constant(x.builder(), Tensor::scalar(std::int64_t{-1})), place.shape());
    Value term = gather(rows, select(outside, nowhere, place), 1);
    if (weight) term = term * broadcast(reshape(weight, {n, points, 1}), {n, points, channels});
    y = y ? y + term : term;
  }
  return reshape(transpose(y, {0, 2, 1}), result);
}

Value affine_grid(Value theta, const std::vector<std::int64_t>& sizes, bool align_corners) {
  const auto dims = static_cast<std::int64_t>(sizes.size());
  const Shape shape = theta.shape();
  bool fits =
      (dims == 2 || dims == 3) && shape.rank() == 3 && shape[1] == dims && shape[2] == dims + 1;
  for (const std::int64_t size : sizes) fits = fits && size >= 0;
  if (!fits)
    throw Error(ErrorCode::kShape,
                fmt::format("affine_grid: theta is {}, {} sizes; expected 2 or 3 sizes d and theta "
                            "(N, d, d + 1)",
                            to_string(theta.type()), sizes.size()));
  if (!is_computed_with(theta.dtype()))
    throw Error(ErrorCode::kDtype, fmt::format("affine_grid: theta is {}, expected f32 or f64",
                                               to_string(theta.type())));
  const Shape whole(sizes);
  // Coordinates of each pixel, the last dimension's first, and 1.
  std::vector<Value> columns;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    const auto size = static_cast<double>(sizes[d]);
    const Value i = cast(iota(theta.builder(), sizes[d]), theta.dtype());
    const Value at = !align_corners ? (i * 2 + 1) / size - 1
                     : sizes[d] > 1 ? i * 2 / (size - 1) - 1
                                    : number_like(i, 0);
    Shape beside{sizes[d]};
    for (std::size_t later = d + 1; later < sizes.size(); ++later)
      beside = beside.insert(beside.rank(), 1);
    columns.push_back(reshape(broadcast(reshape(at, beside), whole), {whole.elements(), 1}));
  }
  columns.push_back(broadcast(constant(theta.builder(), 1, theta.dtype()), {whole.elements(), 1}));
  const Value base = broadcast(concatenate(columns, 1), {shape[0], whole.elements(), dims + 1});
  Shape result{shape[0]};
  for (const std::int64_t size : sizes) result = result.insert(result.rank(), size);
  return reshape(matmul(base, theta, false, true), result.insert(result.rank(), dims));
}

}  // namespace limpid
