// Numbers for the page: with all digits, with their bits, and parts of tensors. Depends on core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/core/json.h"
#include "limpid/core/statistics.h"
#include "limpid/core/tensor.h"

namespace limpid::view {

// A number with the fewest digits that read back as the same number of that dtype; non-finite
// numbers are "nan", "inf" and "-inf".
Json number_json(double number, Dtype dtype = Dtype::kF64);
// Parses a number or one of these three strings. Throws kFormat.
double number_from_json(const JsonView& json);

// A number with its dtype and bits.
struct Exact {
  double value = 0;
  Dtype dtype = Dtype::kF32;
  std::uint64_t bits = 0;

  bool operator==(const Exact&) const = default;
};
// The element at a row-major position. Throws kInvalidArgument if out of range.
Exact exact_at(const Tensor& tensor, std::int64_t element);
// An Exact from a value that the dtype can represent.
Exact exact_of(double value, Dtype dtype);
// "3f800000".
std::string hex_of(const Exact& number);
// {"value", "hex"}.
Json to_json(const Exact& number);

Json to_json(const Shape& shape);
Json to_json(const Statistics& statistics);

// The number of finite elements in each bin [edges[i], edges[i + 1]); the last bin includes its
// upper edge.
struct Histogram {
  std::vector<double> edges = {};
  std::vector<std::int64_t> counts = {};
};
// A histogram of `bins` equal bins between the smallest and the largest element; one bin if these
// are equal, none without finite elements. Throws kInvalidArgument unless 1 <= bins <= 4096.
Histogram histogram(const Tensor& tensor, std::int64_t bins);
Json to_json(const Histogram& histogram);

// A part of a tensor: `count` indices from `first` on, in every dimension.
struct Box {
  std::vector<std::int64_t> first = {}, count = {};

  bool operator==(const Box&) const = default;
};
Box box_from_json(const JsonView& json);
// The encoding of elements.
enum class Encoding : std::uint8_t { kNumbers, kHex, kBase64 };
constexpr EnumNames<3> enum_names(Encoding) { return {"as", {"numbers", "hex", "base64"}}; }
using limpid::name;

// The elements in a box of a tensor, row-major.
struct Values {
  Type type = {};  // of the whole tensor
  Box box = {};
  bool complete = true;  // whether the box is all that was requested
  Tensor elements = {};  // [n], of the tensor's dtype
};
// The elements in the box (default: the whole tensor), at most `most` of them: a larger box is
// truncated along its first dimension that allows it. Throws kShape for a box outside of the
// tensor.
Values values_of(const Tensor& tensor, const std::optional<Box>& box, std::int64_t most);
Json to_json(const Values& values, Encoding encoding = Encoding::kNumbers);

}  // namespace limpid::view
