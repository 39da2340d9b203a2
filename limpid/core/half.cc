#include "limpid/core/half.h"

#include <algorithm>
#include <cmath>

#include "limpid/core/float_mode.h"

namespace limpid {
namespace {

// A format: its number of fraction bits, its smallest normal exponent and the bits of infinity.
struct Format {
  int fraction;
  int lowest;
  int infinity;
};
constexpr Format kBf16{7, -126, 0x7f80};
constexpr Format kF16{10, -14, 0x7c00};

std::uint16_t rounded(double x, const Format& format) {
  const DefaultFloatMode mode;
  if (std::isnan(x))
    return static_cast<std::uint16_t>(format.infinity | 1 << (format.fraction - 1));
  const int sign = std::signbit(x) ? 0x8000 : 0;
  const double a = std::fabs(x);
  if (std::isinf(a)) return static_cast<std::uint16_t>(sign | format.infinity);
  const int e = a < std::ldexp(1.0, format.lowest) ? format.lowest : std::ilogb(a);
  // An integer below 2^(fraction + 1), or that number itself, which then carries into the exponent.
  const auto n = static_cast<int>(std::nearbyint(std::ldexp(a, format.fraction - e)));
  const int bits = ((e - format.lowest) << format.fraction) + n;
  return static_cast<std::uint16_t>(sign | std::min(bits, format.infinity));
}

}  // namespace

Bf16 to_bf16(double x) { return {rounded(x, kBf16)}; }
F16 to_f16(double x) { return {rounded(x, kF16)}; }

}  // namespace limpid
