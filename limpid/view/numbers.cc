#include "limpid/view/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "limpid/core/base64.h"
#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/core/visit_dtype.h"

namespace limpid::view {
namespace {

// Reads an element of any dtype at an address.
double number_of(Dtype dtype, const std::byte* at) {
  return visit(dtype, [&]<class T>(std::type_identity<T>) {
    T x{};
    std::memcpy(&x, at, sizeof x);
    if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>)
      return static_cast<double>(to_f32(x));
    else
      return static_cast<double>(x);
  });
}

std::uint64_t bits_of(Dtype dtype, const std::byte* at) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < size_of(dtype); ++i)
    bits |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
  return bits;
}

// Copies the elements of a box side by side.
void copy_box(const Tensor& tensor, const Box& box, std::span<std::byte> out) {
  const std::size_t size = size_of(tensor.dtype()), rank = box.count.size();
  if (out.empty()) return;
  std::vector<std::int64_t> at(rank, 0);
  // Copies whole rows of the last dimension.
  const std::size_t row = rank == 0 ? size : size * static_cast<std::size_t>(box.count.back());
  for (std::size_t written = 0; written < out.size(); written += row) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < rank; ++d) from = from * tensor.shape()[d] + box.first[d] + at[d];
    std::memcpy(out.data() + written, tensor.bytes().data() + static_cast<std::size_t>(from) * size,
                row);
    for (std::size_t d = rank > 0 ? rank - 1 : 0; d-- > 0;) {
      if (++at[d] < box.count[d]) break;
      at[d] = 0;
    }
  }
}

std::int64_t elements_in(const Box& box) {
  std::int64_t product = 1;
  for (const std::int64_t n : box.count) product *= n;
  return product;
}

// Shortens dimensions, the first one first, until at most `most` elements are left.
bool cut(Box& box, std::int64_t most) {
  bool whole = true;
  for (std::int64_t& count : box.count) {
    const std::int64_t all = elements_in(box);
    if (all <= most) break;
    const std::int64_t others = all / count;
    whole = false;
    count = std::max<std::int64_t>(1, most / std::max<std::int64_t>(1, others));
  }
  if (elements_in(box) > most && !box.count.empty()) box.count.back() = 0;
  return whole;
}

void check_box(const Tensor& tensor, const Box& box) {
  const Shape& shape = tensor.shape();
  bool fits = box.first.size() == shape.rank() && box.count.size() == shape.rank();
  for (std::size_t d = 0; fits && d < shape.rank(); ++d)
    fits = box.first[d] >= 0 && box.count[d] >= 0 && box.first[d] <= shape[d] &&
           box.count[d] <= shape[d] - box.first[d];
  if (!fits)
    throw Error(ErrorCode::kShape,
                fmt::format("the box is outside of {}", to_string(tensor.type())));
}

}  // namespace

Json number_json(double number, Dtype dtype) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  if (dtype == Dtype::kF32) return as_printed(static_cast<float>(number));
  if (dtype == Dtype::kBf16) return as_printed(to_bf16(number));
  if (dtype == Dtype::kF16) return as_printed(to_f16(number));
  return number;
}

double number_from_json(const JsonView& json) {
  if (!json.value().is_string()) return json.as_number();
  const std::string& word = json.as_string();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  json.refuse("a number, \"nan\", \"inf\" or \"-inf\"");
}

Exact exact_at(const Tensor& tensor, std::int64_t element) {
  if (element < 0 || element >= tensor.elements())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} has no element {}", to_string(tensor.type()), element));
  const std::byte* const at =
      tensor.bytes().data() + static_cast<std::size_t>(element) * size_of(tensor.dtype());
  return {number_of(tensor.dtype(), at), tensor.dtype(), bits_of(tensor.dtype(), at)};
}

Exact exact_of(double value, Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return {value, dtype, std::bit_cast<std::uint64_t>(value)};
    case Dtype::kBf16:
      return {value, dtype, to_bf16(value).bits};
    case Dtype::kF16:
      return {value, dtype, to_f16(value).bits};
    case Dtype::kF32:
      return {value, dtype, std::bit_cast<std::uint32_t>(static_cast<float>(value))};
    default: {
      const auto mask = ~std::uint64_t{0} >> (64 - 8 * size_of(dtype));
      return {value, dtype, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & mask};
    }
  }
}

std::string hex_of(const Exact& number) {
  return fmt::format("{:0{}x}", number.bits, 2 * size_of(number.dtype));
}

Json to_json(const Exact& number) {
  return {{"value", number_json(number.value, number.dtype)}, {"hex", hex_of(number)}};
}

Json to_json(const Shape& shape) {
  Json list = Json::array();
  for (const std::int64_t d : shape) list.push_back(d);
  return list;
}

Json to_json(const Statistics& s) {
  return {{"count", s.count},
          {"min", number_json(s.min)},
          {"mean", number_json(s.mean)},
          {"std", number_json(s.std)},
          {"max", number_json(s.max)},
          {"zero_share", s.zero_share},
          {"nans", s.nans},
          {"infs", s.infs}};
}

// ---- histograms

Histogram histogram(const Tensor& tensor, std::int64_t bins) {
  constexpr std::int64_t kMostBins = 4096;
  if (bins < 1 || bins > kMostBins)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("bins: expected 1 to {}, got {}", kMostBins, bins));
  const std::vector<double> all = to_doubles(tensor);
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double x : all)
    if (std::isfinite(x)) {
      least = std::min(least, x);
      most = std::max(most, x);
    }
  Histogram result;
  if (least > most) return result;
  if (least == most) bins = 1;
  const auto n = static_cast<double>(bins);
  // Half the range: the range itself may overflow.
  const double half = most / 2 - least / 2;
  for (std::int64_t i = 0; i <= bins; ++i)
    result.edges.push_back(i == bins ? most : least + half * (2 * static_cast<double>(i) / n));
  result.counts.assign(static_cast<std::size_t>(bins), 0);
  for (const double x : all) {
    if (!std::isfinite(x)) continue;
    const double place = half > 0 ? (x / 2 - least / 2) / half * n : 0;
    auto bin = std::min(bins - 1, static_cast<std::int64_t>(place));
    // The edges decide: the division is rounded.
    while (bin > 0 && x < result.edges[static_cast<std::size_t>(bin)]) --bin;
    while (bin + 1 < bins && x >= result.edges[static_cast<std::size_t>(bin) + 1]) ++bin;
    ++result.counts[static_cast<std::size_t>(bin)];
  }
  return result;
}

Json to_json(const Histogram& h) {
  Json edges = Json::array();
  for (const double edge : h.edges) edges.push_back(number_json(edge));
  return {{"edges", edges}, {"counts", Json(h.counts)}};
}

// ---- parts of tensors

Box box_from_json(const JsonView& json) {
  const auto integers = [&](std::string_view key) {
    std::vector<std::int64_t> list;
    for (const JsonView& element : json.at(key).elements()) list.push_back(element.as_integer());
    return list;
  };
  return {integers("first"), integers("count")};
}

Values values_of(const Tensor& tensor, const std::optional<Box>& asked, std::int64_t most) {
  Values values{.type = tensor.type()};
  const Shape& shape = tensor.shape();
  values.box = asked
                   ? *asked
                   : Box{std::vector<std::int64_t>(shape.rank(), 0), {shape.begin(), shape.end()}};
  check_box(tensor, values.box);
  values.complete = cut(values.box, most);
  const std::int64_t count = elements_in(values.box);
  if (count == tensor.elements()) {
    values.elements = tensor.reshape({count});
  } else {
    values.elements = Tensor::generate_bytes(
        {tensor.dtype(), {count}},
        [&](std::span<std::byte> out) { copy_box(tensor, values.box, out); });
  }
  return values;
}

Json to_json(const Values& values, Encoding encoding) {
  Json document{
      {"dtype", name(values.type.dtype)},
      {"shape", to_json(values.type.shape)},
      {"box", Json{{"first", Json(values.box.first)}, {"count", Json(values.box.count)}}}};
  if (encoding == Encoding::kBase64) {
    document["base64"] = base64(values.elements.bytes());
  } else {
    Json::Array list;
    list.reserve(static_cast<std::size_t>(values.elements.elements()));
    for (std::int64_t i = 0; i < values.elements.elements(); ++i) {
      const Exact number = exact_at(values.elements, i);
      if (encoding == Encoding::kHex)
        list.emplace_back(hex_of(number));
      else
        list.push_back(number_json(number.value, number.dtype));
    }
    document[encoding == Encoding::kHex ? "hex" : "values"] = Json(std::move(list));
  }
  document["complete"] = values.complete;
  return document;
}

}  // namespace limpid::view
