#include "limpid/core/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace limpid {
namespace {

// A format by the bits of its fraction, its smallest normal exponent and the bits of infinity.
struct Format {
  int fraction;
  int lowest;
  int infinity;
};
constexpr Format kBf16{7, -126, 0x7f80};
constexpr Format kF16{10, -14, 0x7c00};

std::uint16_t rounded(double x, const Format& format) {
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

float to_f32(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

float to_f32(F16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fff;
  // The exponent's bias is 15 here and 127 there, and all ones stay all ones.
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | magnitude << 13);
  if (magnitude >= 0x0400) return std::bit_cast<float>(sign | (magnitude + (112 << 10)) << 13);
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return std::copysign(subnormal, std::bit_cast<float>(sign));
}

Bf16 to_bf16(double x) { return {rounded(x, kBf16)}; }
F16 to_f16(double x) { return {rounded(x, kF16)}; }

}  // namespace limpid
