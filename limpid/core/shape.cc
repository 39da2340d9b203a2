#include "limpid/core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "limpid/core/error.h"

namespace limpid {

Shape::Shape(std::span<const std::int64_t> dims) : rank_(dims.size()) {
  if (dims.size() > kMaxRank)
    throw Error(ErrorCode::kShape, fmt::format("shape: {} dimensions, at most {} are supported",
                                               dims.size(), kMaxRank));
  std::copy(dims.begin(), dims.end(), dims_.begin());
  for (std::int64_t d : dims)
    if (d < 0) throw Error(ErrorCode::kShape, fmt::format("shape: dimension {} is negative", d));
  const std::optional<std::int64_t> elements = elements_of(dims, kMaxElements);
  if (!elements)
    throw Error(ErrorCode::kShape, fmt::format("shape: the number of elements of [{}] overflows",
                                               fmt::join(dims, ", ")));
  elements_ = *elements;
}

std::optional<std::int64_t> elements_of(std::span<const std::int64_t> dims, std::int64_t most) {
  std::int64_t elements = 1;
  bool empty = false;
  for (std::int64_t d : dims) {
    empty = empty || d == 0;
    if (d == 0) continue;
    if (elements > most / d) return {};
    elements *= d;
  }
  return empty ? 0 : elements;
}

Shape Shape::insert(std::size_t axis, std::int64_t dim) const {
  std::vector<std::int64_t> d(begin(), end());
  d.insert(d.begin() + static_cast<std::ptrdiff_t>(axis), dim);
  return Shape(d);
}

Shape Shape::erase(std::size_t axis) const {
  std::vector<std::int64_t> d(begin(), end());
  d.erase(d.begin() + static_cast<std::ptrdiff_t>(axis));
  return Shape(d);
}

Shape Shape::replace(std::size_t axis, std::int64_t dim) const {
  std::array<std::int64_t, kMaxRank> d = dims_;
  d[axis] = dim;
  return Shape(std::span<const std::int64_t>(d.data(), rank_));
}

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view what) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: axis {} is outside of rank {}", what, axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

}  // namespace limpid
