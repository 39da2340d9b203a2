#include "limpid/ops/rearrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using AxisSizes = std::vector<std::int64_t>;

// The elements before and after an axis.
struct Around {
  std::int64_t outer = 1, inner = 1;
};
Around around(const Shape& shape, std::size_t axis) {
  Around sizes;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d < axis) sizes.outer *= shape[d];
    if (d > axis) sizes.inner *= shape[d];
  }
  return sizes;
}

void require_count(std::int64_t count, std::string_view what) {
  if (count < 0)
    throw Error(ErrorCode::kShape, fmt::format("{}: expected 0 or more, got {}", what, count));
}

// 0 in the shape of x, of any dtype.
Value nothing_like(const Value& x) {
  return broadcast(cast(constant(x.builder(), 0, Dtype::kI32), x.dtype()), x.shape());
}

// Whether column - row is at most k (`below`) or at least k, in every matrix of a shape.
Value beside_diagonal(Builder& builder, const Shape& shape, std::int64_t k, bool below) {
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back();
  const Shape matrix{rows, columns};
  // Beyond the matrix all diagonals are alike.
  const std::int64_t least = std::clamp(k, -rows - 1, columns + 1);
  const Value row = broadcast(reshape(iota(builder, rows), {rows, 1}), matrix);
  const Value column = broadcast(iota(builder, columns), matrix);
  const Value first = row + static_cast<double>(least);
  return broadcast(below ? column <= first : column >= first, shape);
}

void require_matrices(const Value& x, std::string_view what) {
  if (x.rank() < 2)
    throw Error(ErrorCode::kShape, fmt::format("{}: expected at least two dimensions, got {}", what,
                                               to_string(x.type())));
}

}  // namespace

Value repeat(Value x, std::int64_t repeats, std::int64_t axis) {
  const Shape shape = x.shape();
  const std::size_t a = normalize_axis(axis, shape.rank(), "repeat");
  require_count(repeats, "repeat: repeats");
  const Shape wide = shape.replace(a, Shape({shape[a], repeats}).elements());
  const auto [outer, inner] = around(shape, a);
  const std::int64_t elements = outer * shape[a];
  return reshape(broadcast(reshape(x, {elements, 1, inner}), {elements, repeats, inner}), wide);
}

Value repeat(Value x, const AxisSizes& repeats, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "repeat");
  const std::int64_t size = x.shape()[a];
  if (static_cast<std::int64_t>(repeats.size()) != size)
    throw Error(ErrorCode::kShape,
                fmt::format("repeat: expected {} numbers for axis {} of {}, got {}", size, axis,
                            to_string(x.type()), repeats.size()));
  std::int64_t total = 0;
  for (const std::int64_t count : repeats) {
    require_count(count, "repeat: repeats");
    if (count > Shape::kMaxElements - total)
      throw Error(ErrorCode::kShape, "repeat: the result would have too many elements");
    total += count;
  }
  const Tensor places = Tensor::generate<std::int64_t>({total}, [&](std::span<std::int64_t> out) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < repeats.size(); ++i)
      for (std::int64_t k = 0; k < repeats[i]; ++k) out[next++] = static_cast<std::int64_t>(i);
  });
  return gather_along(x, constant(x.builder(), places), axis);
}

Value tile(Value x, AxisSizes times) {
  Shape shape = x.shape();
  while (shape.rank() < times.size()) shape = shape.insert(0, 1);
  if (times.size() < shape.rank()) times.insert(times.begin(), shape.rank() - times.size(), 1);
  x = reshape(x, shape);
  for (std::size_t d = 0; d < times.size(); ++d) {
    require_count(times[d], "tile: times");
    if (times[d] == 1) continue;
    const auto [outer, inner] = around(shape, d);
    const std::int64_t block = shape[d] * inner;
    shape = shape.replace(d, Shape({shape[d], times[d]}).elements());
    x = reshape(broadcast(reshape(x, {outer, 1, block}), {outer, times[d], block}), shape);
  }
  return x;
}

Value roll(Value x, std::int64_t shift, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "roll");
  const std::int64_t size = x.shape()[a];
  if (size == 0) return x;
  const std::int64_t places = (shift % size + size) % size;
  if (places == 0) return x;
  const auto at = static_cast<std::int64_t>(a);
  return concatenate({slice(x, at, size - places, size), slice(x, at, 0, size - places)}, at);
}

std::vector<Value> split_at(Value x, const AxisSizes& places, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "split");
  const std::int64_t size = x.shape()[a];
  const auto at = static_cast<std::int64_t>(a);
  std::vector<Value> parts;
  std::int64_t begin = 0;
  const auto add = [&](std::int64_t end) {
    parts.push_back(slice(x, at, begin, std::max(begin, end)));
  };
  for (const std::int64_t place : places) {
    const std::int64_t end = std::clamp<std::int64_t>(place < 0 ? place + size : place, 0, size);
    add(end);
    begin = end;
  }
  add(size);
  return parts;
}

std::vector<Value> array_split(Value x, std::int64_t parts, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "array_split");
  if (parts < 1)
    throw Error(ErrorCode::kShape,
                fmt::format("array_split: expected at least one part, got {}", parts));
  const std::int64_t size = x.shape()[a];
  AxisSizes places;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i + 1 < parts; ++i)
    places.push_back(end += size / parts + (i < size % parts ? 1 : 0));
  return split_at(x, places, axis);
}

Value diff(Value x, std::int64_t n, std::int64_t axis) {
  const auto at = static_cast<std::int64_t>(normalize_axis(axis, x.rank(), "diff"));
  require_count(n, "diff: n");
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t size = x.shape()[static_cast<std::size_t>(at)];
    if (size == 0) break;
    x = slice(x, at, 1, size) - slice(x, at, 0, size - 1);
  }
  return x;
}

Value tril(Value x, std::int64_t k) {
  require_matrices(x, "tril");
  return select(beside_diagonal(x.builder(), x.shape(), k, true), x, nothing_like(x));
}
Value triu(Value x, std::int64_t k) {
  require_matrices(x, "triu");
  return select(beside_diagonal(x.builder(), x.shape(), k, false), x, nothing_like(x));
}

Value diagonal(Value x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  require_matrices(x, "diagonal");
  const std::size_t rank = x.rank();
  const std::size_t first = normalize_axis(axis1, rank, "diagonal");
  const std::size_t second = normalize_axis(axis2, rank, "diagonal");
  if (first == second)
    throw Error(ErrorCode::kShape, fmt::format("diagonal: expected two axes, got {} twice", axis1));
  AxisSizes order;
  for (std::size_t d = 0; d < rank; ++d)
    if (d != first && d != second) order.push_back(static_cast<std::int64_t>(d));
  order.push_back(static_cast<std::int64_t>(first));
  order.push_back(static_cast<std::int64_t>(second));
  AxisSizes in_place(rank);
  std::iota(in_place.begin(), in_place.end(), 0);
  const Value last = order == in_place ? x : transpose(x, order);
  const Shape shape = last.shape();
  const std::int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  const std::int64_t k = std::clamp(offset, -rows, columns);
  const std::int64_t count = std::max<std::int64_t>(
      0, std::min(rows + std::min<std::int64_t>(k, 0), columns - std::max<std::int64_t>(k, 0)));
  const Shape lines = shape.erase(rank - 1).replace(rank - 2, rows * columns);
  const std::int64_t begin = count == 0 ? 0 : k >= 0 ? k : -k * columns;
  AxisSizes starts(rank - 1, 0), strides(rank - 1, 1), limits(lines.begin(), lines.end());
  starts.back() = begin;
  limits.back() = count == 0 ? begin : begin + (count - 1) * (columns + 1) + 1;
  strides.back() = columns + 1;
  return slice(reshape(last, lines), starts, limits, strides);
}

Value eye(Builder& builder, std::int64_t rows, std::int64_t columns, std::int64_t k, Dtype dtype) {
  const Shape shape{rows, columns};
  return cast(logical_and(beside_diagonal(builder, shape, k, true),
                          beside_diagonal(builder, shape, k, false)),
              dtype);
}

Value linspace(Builder& builder, double start, double stop, std::int64_t num, bool endpoint,
               Dtype dtype) {
  require_count(num, "linspace: num");
  if (!is_computed_with(dtype))
    throw Error(ErrorCode::kDtype,
                fmt::format("linspace: expected f32 or f64, got {}", name(dtype)));
  const auto write = [&]<class T>(std::span<T> out) {
    const std::size_t steps = endpoint ? out.size() - 1 : out.size();
    const double step = steps ? (stop - start) / static_cast<double>(steps) : 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double part = static_cast<double>(i) * step;
      out[i] = static_cast<T>(i > 0 && i == steps ? stop : start + part);
    }
  };
  const Tensor numbers =
      dtype == Dtype::kF32
          ? Tensor::generate<float>({num}, [&](std::span<float> out) { write(out); })
          : Tensor::generate<double>({num}, [&](std::span<double> out) { write(out); });
  return constant(builder, numbers);
}

std::vector<Value> meshgrid(const std::vector<Value>& vectors, bool xy) {
  AxisSizes dims;
  for (const Value& v : vectors) {
    if (v.rank() > 1)
      throw Error(ErrorCode::kShape,
                  fmt::format("meshgrid: expected vectors, got {}", to_string(v.type())));
    dims.push_back(v.shape().elements());
  }
  const bool exchanged = xy && dims.size() > 1;
  if (exchanged) std::swap(dims[0], dims[1]);
  const Shape grid(dims);
  std::vector<Value> all;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::size_t axis = exchanged && i < 2 ? 1 - i : i;
    AxisSizes line(dims.size(), 1);
    line[axis] = dims[axis];
    all.push_back(broadcast(reshape(vectors[i], Shape(line)), grid));
  }
  return all;
}

Value outer(Value a, Value b) {
  return reshape(a, {a.shape().elements(), 1}) * reshape(b, {1, b.shape().elements()});
}

Value kron(Value a, Value b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  if (2 * rank > Shape::kMaxRank)
    throw Error(ErrorCode::kShape,
                fmt::format("kron: expected at most {} dimensions, got {} and {}",
                            Shape::kMaxRank / 2, to_string(a.type()), to_string(b.type())));
  AxisSizes blocks, elements, dims;
  const auto size = [&](const Shape& shape, std::size_t d) {
    return d + shape.rank() < rank ? 1 : shape[d + shape.rank() - rank];
  };
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t m = size(a.shape(), d), n = size(b.shape(), d);
    blocks.insert(blocks.end(), {m, 1});
    elements.insert(elements.end(), {1, n});
    dims.push_back(m * n);
  }
  return reshape(reshape(a, Shape(blocks)) * reshape(b, Shape(elements)), Shape(dims));
}

Value cumulative_product(Value x, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "cumulative_product");
  const auto at = static_cast<std::int64_t>(a);
  return added_up(x, [&](const Value& v) {
    Value y = is_floating(v.dtype()) ? v : cast(v, Dtype::kI64);
    const std::int64_t n = y.shape()[a];
    if (y.shape().elements() == 0) return y;
    for (std::int64_t d = 1; d < n; d *= 2) {
      const Value products = slice(y, at, d, n) * slice(y, at, 0, n - d);
      y = concatenate({slice(y, at, 0, d), products}, at);
    }
    return y;
  });
}

}  // namespace limpid
