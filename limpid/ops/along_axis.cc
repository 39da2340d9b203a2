#include "limpid/ops/along_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/rows.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using List = std::vector<std::int64_t>;

Value as_places(Value indices, const Shape& shape) {
  const bool wide = shape.elements() > std::numeric_limits<std::int32_t>::max();
  return wide ? cast(indices, Dtype::kI64) : indices;
}

Value is_within(Value indices, std::int64_t size) {
  return logical_and(indices >= number_like(indices, 0),
                     indices < number_like(indices, static_cast<double>(size)));
}

// 0, 1, ... along one dimension of a shape.
Value counting(const Value& like, const Shape& shape, std::size_t axis) {
  Shape line = shape;
  for (std::size_t d = 0; d < shape.rank(); ++d)
    if (d != axis) line = line.replace(d, 1);
  const Value numbers = cast(iota(like.builder(), shape[axis]), like.dtype());
  return broadcast(reshape(numbers, line), shape);
}

// The positions in x of the elements that indices name; `outside` for an index out of range.
Value places_along_axis(Value indices, const Shape& x, std::size_t axis, std::int64_t outside) {
  const Shape shape = indices.shape();
  bool fits = shape.rank() == x.rank();
  for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = d == axis || shape[d] <= x[d];
  if (!fits)
    throw Error(ErrorCode::kShape,
                fmt::format("indices {} along axis {} of {}: expected the same rank and no larger "
                            "dimensions except along the axis",
                            to_string(indices.type()), axis, to_string(x)));
  const Value numbers = as_places(indices, x);
  Value places = number_like(numbers, 0);
  for (std::size_t d = 0; d < x.rank(); ++d)
    places =
        places * static_cast<double>(x[d]) + (d == axis ? numbers : counting(numbers, shape, d));
  return select(is_within(numbers, x[axis]), places,
                number_like(places, static_cast<double>(outside)));
}

// Which element of x is at each position of the padded axis.
Tensor padded_places(std::int64_t size, std::int64_t low, std::int64_t high, PadMode mode) {
  const auto place = [&](std::int64_t i) {
    if (mode == PadMode::kEdge) return std::clamp<std::int64_t>(i, 0, size - 1);
    const std::int64_t period = mode == PadMode::kWrap || size == 1 ? size : 2 * (size - 1);
    const std::int64_t within = (i % period + period) % period;
    return within < size ? within : period - within;
  };
  return Tensor::generate<std::int64_t>({low + size + high}, [&](std::span<std::int64_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = place(static_cast<std::int64_t>(i) - low);
  });
}

}  // namespace

List exchanged_with_last(std::size_t rank, std::size_t axis) {
  List permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[axis], permutation[rank - 1]);
  return permutation;
}

Value take_along_axis(Value x, Value indices, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "take_along_axis");
  // The other dimensions are a batch of vectors, unless they are only a part of x's.
  if (indices.rank() == x.rank() && indices.shape().replace(a, x.shape()[a]) == x.shape()) {
    const auto batch = static_cast<std::int64_t>(x.rank()) - 1;
    if (a + 1 == x.rank()) return take_rows(x, indices, batch);
    const List to_last = exchanged_with_last(x.rank(), a);
    return transpose(take_rows(transpose(x, to_last), transpose(indices, to_last), batch), to_last);
  }
  const std::int64_t count = x.shape().elements();
  return take_rows(reshape(x, {count}),
                   places_along_axis(from_either_end(indices, x.shape()[a]), x.shape(), a, count));
}

Value scatter_along_axis(Value x, Value indices, Value updates, std::int64_t axis,
                         ScatterMode mode) {
  const std::size_t a = normalize_axis(axis, x.rank(), "scatter_along_axis");
  const Value places = places_along_axis(indices, x.shape(), a, -1);
  return reshape(scatter(reshape(x, {x.shape().elements()}), places, updates, mode), x.shape());
}

Value flat_index(Value indices, const Shape& shape) {
  const Shape numbers = indices.shape();
  if (numbers.rank() == 0 || numbers.back() != static_cast<std::int64_t>(shape.rank()))
    throw Error(ErrorCode::kShape,
                fmt::format("flat_index: {} of {}: expected a last dimension of {}",
                            to_string(indices.type()), to_string(shape), shape.rank()));
  const Value wide = as_places(indices, shape);
  const std::size_t last = numbers.rank() - 1;
  const Shape places_shape = numbers.erase(last);
  Value places = broadcast(constant(wide.builder(), 0, wide.dtype()), places_shape);
  Value inside = places == places;  // true, to begin with
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const auto column = static_cast<std::int64_t>(d);
    const Value number =
        reshape(slice(wide, static_cast<std::int64_t>(last), column, column + 1), places_shape);
    places = places * static_cast<double>(shape[d]) + number;
    inside = logical_and(inside, is_within(number, shape[d]));
  }
  return select(inside, places, number_like(places, -1));
}

Value flip(Value x, std::int64_t axis) {
  const std::int64_t size = x.shape()[normalize_axis(axis, x.rank(), "flip")];
  const Value places = static_cast<double>(size - 1) - iota(x.builder(), size);
  return gather_along(x, places, axis);
}

Value pad(Value x, const List& low, const List& high, PadMode mode) {
  if (low.size() != x.rank() || high.size() != x.rank())
    throw Error(ErrorCode::kShape, fmt::format("pad: {} and {} numbers for {}", low.size(),
                                               high.size(), to_string(x.type())));
  for (std::size_t d = 0; d < low.size(); ++d) {
    if (low[d] == 0 && high[d] == 0) continue;
    const std::int64_t size = x.shape()[d];
    std::int64_t whole = 0;
    if (low[d] < 0 || high[d] < 0 || size == 0 || __builtin_add_overflow(low[d], high[d], &whole) ||
        __builtin_add_overflow(whole, size, &whole))
      throw Error(ErrorCode::kShape, fmt::format("pad: {} before and {} after dimension {} of {}",
                                                 low[d], high[d], d, to_string(x.type())));
    x = gather_along(x, constant(x.builder(), padded_places(size, low[d], high[d], mode)),
                     static_cast<std::int64_t>(d));
  }
  return x;
}

}  // namespace limpid
