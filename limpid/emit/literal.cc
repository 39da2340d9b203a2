// Numbers as C++ writes them, bit for bit.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "limpid/core/visit_dtype.h"
#include "limpid/emit/detail/forms.h"

namespace limpid::emit {
namespace {

// A NaN is written by its bits: computed NaNs differ between machines and compilers.
std::string nan(bool sign, bool quiet, std::uint64_t payload, std::string_view suffix) {
  return fmt::format("{}__builtin_nan{}{}(\"{:#x}\")", sign ? "-" : "", quiet ? "" : "s", suffix,
                     payload);
}

// Hexadecimal digits, whatever the locale.
std::string hexadecimal(double x) {
  char digits[32];
  const auto end =
      std::to_chars(digits, std::end(digits), std::fabs(x), std::chars_format::hex).ptr;
  return fmt::format("{}0x{}", x < 0 ? "-" : "", std::string_view(digits, end));
}

std::string real(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return nan(std::signbit(x), (bits & 0x400000) != 0, bits & 0x3fffff, "f");
  if (std::isinf(x)) return x < 0 ? "-__builtin_inff()" : "__builtin_inff()";
  return x == 0 ? (std::signbit(x) ? "-0.0f" : "0.0f") : hexadecimal(x) + "f";
}
std::string real(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  if (std::isnan(x)) return nan(std::signbit(x), (bits >> 51 & 1) != 0, bits & 0x7ffffffffffff, "");
  if (std::isinf(x)) return x < 0 ? "-__builtin_inf()" : "__builtin_inf()";
  return x == 0 ? (std::signbit(x) ? "-0.0" : "0.0") : hexadecimal(x);
}

// C++ has no negative literals: the lowest number would be minus a literal that is out of range.
template <class T>
std::string whole_number(T x) {
  if (x == std::numeric_limits<T>::min()) return fmt::format("({} - 1)", x + 1);
  return std::to_string(x);
}

}  // namespace

std::string_view cpp_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return "float";
    case Dtype::kF64:
      return "double";
    case Dtype::kBf16:
    case Dtype::kF16:
      return "std::uint16_t";
    case Dtype::kI32:
      return "std::int32_t";
    case Dtype::kI64:
      return "std::int64_t";
    case Dtype::kI8:
      return "std::int8_t";
    case Dtype::kU8:
      return "std::uint8_t";
    case Dtype::kBool:
      return "bool";
  }
  return {};
}

std::string literal(const Tensor& tensor, std::int64_t element) {
  const auto i = static_cast<std::size_t>(element);
  return visit(tensor.dtype(), [&]<class T>(std::type_identity<T>) -> std::string {
    const T x = tensor.values<T>()[i];
    if constexpr (std::is_same_v<T, bool>)
      return x ? "true" : "false";
    else if constexpr (std::is_floating_point_v<T>)
      return real(x);
    else if constexpr (std::is_integral_v<T>)
      return sizeof(T) == 1 ? std::to_string(x) : whole_number(x);
    else
      return std::to_string(x.bits);
  });
}

}  // namespace limpid::emit
