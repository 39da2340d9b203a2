// The fused multiply-add of the specification: a * b + c with one rounding.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "limpid/core/refuse_fast_math.h"

namespace limpid::arithmetic {

// Used if there is no FMA instruction. The C library's fmaf is no substitute: musl's is wrong for
// some subnormal results, glibc's is slow. The product of two floats is exact in f64. The sum is
// rounded to odd in f64, so that rounding it to f32 gives the correctly rounded result (Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
// odd", 2008).
inline float fused_by_odd_rounding(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double term = static_cast<double>(c);
  const double sum = product + term;
  // product + term = sum + error, exactly (Knuth's TwoSum).
  const double added = sum - product;
  const double error = (product - (sum - added)) + (term - added);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  const bool inexact = error < 0 || error > 0;  // false for infinities and NaNs
  if (inexact && bits % 2 == 0) bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
  return static_cast<float>(std::bit_cast<double>(bits));
}

// a * b + c, rounded once.
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMAF)
  return std::fma(a, b, c);
#else
  return fused_by_odd_rounding(a, b, c);
#endif
}

// The same in f64; the C library computes it if the CPU has no FMA instruction.
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }

}  // namespace limpid::arithmetic
