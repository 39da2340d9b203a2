// Conversions of the 16-bit floating formats: bf16 (the upper half of an f32) and f16 (IEEE 754
// binary16).
#pragma once

#include <bit>
#include <cstdint>

#include "limpid/core/dtype.h"

namespace limpid {

// Exact.
inline float to_f32(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline float to_f32(F16 x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  // The shifted exponent is 112 too low, except that all ones (infinity, NaN) stay all ones.
  // Subnormals, below 2^-14, are multiples of 2^-24: they are converted by adding and subtracting
  // 2^-14, which is exact in every floating-point mode.
  const std::uint32_t normal = (magnitude << 13) + (112u << 23);
  const float small = std::bit_cast<float>(normal + (1u << 23)) - 0x1p-14f;
  const std::uint32_t bits = magnitude >= 0x7c00 ? 0x7f800000 | magnitude << 13
                             : magnitude >= 0x400
                                 ? normal
                                 : std::bit_cast<std::uint32_t>(small) & 0x7fffffff;
  return std::bit_cast<float>(sign | bits);
}

// Rounded to nearest, ties to even. Subnormals are kept and overflow gives infinity. Every NaN
// becomes 0x7fc0 (bf16) or 0x7e00 (f16), since the sign of a NaN differs between machines.
Bf16 to_bf16(double x);
F16 to_f16(double x);

// Fast versions for f32, with the same results.
inline Bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // Add just below half a unit in the last place, plus one if the last bit is odd, so that ties go
  // to even. Infinity stays.
  const std::uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
  return {static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded >> 16)};
}
inline F16 to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  // As above; the exponent also changes to a bias of 15.
  std::uint32_t y = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
  // Below 2^-14 the last place is 2^-24: shift bits out. In integers, since a floating-point sum
  // depends on the thread's rounding mode. Below 2^-25 all bits are shifted out.
  const std::uint32_t exponent = magnitude >> 23;
  const std::uint32_t shift = exponent < 101 ? 25 : exponent < 113 ? 126 - exponent : 13;
  const std::uint32_t digits = (magnitude & 0x7fffff) | 0x800000;
  const std::uint32_t small = (digits + (1u << (shift - 1)) - 1 + (digits >> shift & 1)) >> shift;
  y = magnitude < 0x38800000 ? small : y;
  y = magnitude >= 0x477ff000 ? 0x7c00 : y;  // 65520 and above round to infinity
  y |= bits >> 16 & 0x8000;
  return {static_cast<std::uint16_t>(magnitude > 0x7f800000 ? 0x7e00 : y)};
}

}  // namespace limpid
