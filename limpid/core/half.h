// The 16-bit floating formats: bf16, the upper half of an f32, and f16, IEEE 754 binary16.
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
  // In its place the exponent is 112 too low, for subnormals too; all ones stay all ones.
  const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t bits =
      magnitude < 0x7c00 ? std::bit_cast<std::uint32_t>(finite) : 0x7f800000 | magnitude << 13;
  return std::bit_cast<float>(sign | bits);
}

// Rounded to nearest, ties to even. Subnormals are kept, what is too large becomes infinite, and
// every NaN becomes 0x7fc0 or 0x7e00: machines differ in the sign of theirs.
Bf16 to_bf16(double x);
F16 to_f16(double x);

// The same for f32, fast.
inline Bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // Just below one half of the last place, and one more to make a tie even; infinity stays.
  const std::uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
  return {static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded >> 16)};
}
inline F16 to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  // As above, with the exponent brought to its bias of 15.
  std::uint32_t y = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
  // Below 2^-14: the last place of 1/2 is that of a subnormal.
  const float sum = std::bit_cast<float>(magnitude) + 0.5f;
  y = magnitude < 0x38800000 ? std::bit_cast<std::uint32_t>(sum) - 0x3f000000 : y;
  y = magnitude >= 0x477ff000 ? 0x7c00 : y;  // from 65520 on
  y |= bits >> 16 & 0x8000;
  return {static_cast<std::uint16_t>(magnitude > 0x7f800000 ? 0x7e00 : y)};
}

}  // namespace limpid
