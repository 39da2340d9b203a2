// Numbers as the page gets them: with all of their digits, with their bits, and parts of tensors.
// Leans on core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/core/statistics.h"
#include "limpid/core/tensor.h"

namespace limpid::view {

// The shortest digits that read back as the same number of that dtype; "nan", "inf" and "-inf" for
// what JSON has no number for.
Json number_json(double number, Dtype dtype = Dtype::kF64);
// A number, or one of those three words. Throws kFormat.
double number_from_json(const JsonView& json);

// A number of a dtype with its bits.
struct Exact {
  double value = 0;
  Dtype dtype = Dtype::kF32;
  std::uint64_t bits = 0;

  bool operator==(const Exact&) const = default;
};
// An element, counted row by row. Throws kInvalidArgument outside of the tensor.
Exact exact_at(const Tensor& tensor, std::int64_t element);
// A number that a tensor of that dtype held.
Exact exact_of(double value, Dtype dtype);
// "3f800000".
std::string hex_of(const Exact& number);
// {"value", "hex"}.
Json to_json(const Exact& number);

Json to_json(const Shape& shape);
Json to_json(const Statistics& statistics);

// How many of the finite elements lie in [edges[i], edges[i + 1]), the last edge included.
struct Histogram {
  std::vector<double> edges = {};
  std::vector<std::int64_t> counts = {};
};
// Of `bins` bins of one width between the least and the largest; one bin where these are one
// number, none where there is none. Throws kInvalidArgument unless 1 <= bins <= 4096.
Histogram histogram(const Tensor& tensor, std::int64_t bins);
Json to_json(const Histogram& histogram);

// A part of a tensor: `count` from `first` on in every dimension.
struct Box {
  std::vector<std::int64_t> first = {}, count = {};

  bool operator==(const Box&) const = default;
};
Box box_from_json(const JsonView& json);
// How its elements are written.
enum class As : std::uint8_t { kNumbers, kHex, kBase64 };
// "numbers", "hex", "base64". Throws kNotFound.
As as_from_name(std::string_view name);

// Elements of a box of a tensor, row by row.
struct Values {
  Type type = {};  // of the whole tensor
  Box box = {};
  bool complete = true;  // whether the box is all that was asked for
  Tensor elements = {};  // [n], of the tensor's dtype
};
// The box, everything where none is given, but at most `most` elements: then the first of them
// along the first dimension that can be cut. Throws kShape for a box outside of the tensor.
Values values_of(const Tensor& tensor, const std::optional<Box>& box, std::int64_t most);
Json to_json(const Values& values, As as = As::kNumbers);

// RFC 4648, with padding.
std::string base64(std::span<const std::byte> bytes);

}  // namespace limpid::view
