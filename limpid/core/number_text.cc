#include "limpid/core/number_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "limpid/core/float_mode.h"
#include "limpid/core/half.h"

namespace limpid {
namespace {

// std::to_chars does not know these numbers. `round` makes them from an f64.
template <class T>
double half_as_printed(T number, T (*round)(double)) {
  const DefaultFloatMode mode;
  const auto value = static_cast<double>(to_f32(number));
  char text[32];
  double shown = value;
  for (int digits = 1; value != 0; ++digits) {
    const auto end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, digits - 1)
            .ptr;
    std::from_chars(text, end, shown);
    if (round(shown).bits == number.bits) break;
  }
  return shown;
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string short_number(double number) {
  const DefaultFloatMode mode;
  return fmt::format("{:.6g}", unsigned_nan(number));
}

double unsigned_nan(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

std::string exact_number(double number, Dtype dtype) {
  const DefaultFloatMode mode;
  if (std::isnan(number)) return "nan";
  return dtype == Dtype::kF32 ? fmt::format("{}", static_cast<float>(number))
                              : fmt::format("{}", number);
}

double as_printed(float number) {
  const DefaultFloatMode mode;
  const std::string digits = fmt::format("{}", number);
  double result = number;
  std::from_chars(digits.data(), digits.data() + digits.size(), result);
  // The f64 that is nearest to the digits may lie halfway between two f32.
  return static_cast<float>(result) == number ? result : number;
}

double as_printed(Bf16 number) { return half_as_printed<Bf16>(number, to_bf16); }
double as_printed(F16 number) { return half_as_printed<F16>(number, to_f16); }

}  // namespace limpid
