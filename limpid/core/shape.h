// Shape: the dimensions of a row-major array. A small value that allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace limpid {

// The largest number of elements of a shape on a machine whose objects have at most `most_bytes`
// bytes. With 8-byte elements that is half of `most_bytes`, so that sizes can be rounded up, and
// two sizes added, without overflow.
constexpr std::int64_t most_elements(std::int64_t most_bytes) { return most_bytes / 16; }

class Shape {
 public:
  static constexpr std::size_t kMaxRank = 8;
  // The most elements of any shape on this machine.
  static constexpr std::int64_t kMaxElements =
      most_elements(std::numeric_limits<std::ptrdiff_t>::max());

  // The shape of a scalar: rank 0, one element.
  Shape() = default;
  // Throws kShape for more than kMaxRank dimensions, for a negative one, and if the product of the
  // non-zero dimensions is more than kMaxElements.
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }  // requires axis < rank()
  // The last dimension. Requires rank() > 0.
  std::int64_t back() const { return dims_[rank_ - 1]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::span<const std::int64_t> dims() const { return {dims_.data(), rank_}; }

  // The product of the dimensions; 1 for a scalar. At most kMaxElements.
  std::int64_t elements() const { return elements_; }

  // A copy with one dimension inserted before `axis`, removed, or replaced. insert throws kShape
  // beyond kMaxRank dimensions, all throw kShape beyond kMaxElements.
  Shape insert(std::size_t axis, std::int64_t dim) const;
  Shape erase(std::size_t axis) const;
  Shape replace(std::size_t axis, std::int64_t dim) const;

  bool operator==(const Shape& other) const;  // the same rank and dimensions

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
  std::int64_t elements_ = 1;
};

// The product of the dimensions; nullopt if the product of the non-zero ones is more than `most`.
// Requires that none is negative.
std::optional<std::int64_t> elements_of(std::span<const std::int64_t> dims, std::int64_t most);

// "[256, 784]"; "[]" for a scalar.
std::string to_string(const Shape& shape);

// An axis as an index in [0, rank); a negative axis counts from the end, -1 is the last. Throws
// kShape, with `what` at the start of the message, if the axis is out of range.
std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view what);

}  // namespace limpid
