#include "limpid/core/arithmetic.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "limpid/core/coefficients.h"
#include "limpid/core/fused.h"
#include "limpid/core/sums.h"

namespace limpid::arithmetic {
namespace {

namespace c = coefficients;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Horner's rule from the highest power down, each step fused.
template <class T, std::size_t N>
T polynomial(T x, const T (&descending)[N]) {
  T y = descending[0];
  for (std::size_t i = 1; i < N; ++i) y = fused(y, x, descending[i]);
  return y;
}
// With the coefficients of one piece.
template <std::size_t N>
float polynomial(float x, std::uint32_t piece, const float (&descending)[N][16]) {
  float y = descending[0][piece];
  for (std::size_t i = 1; i < N; ++i) y = fused(y, x, descending[i][piece]);
  return y;
}

// 2^n as a product of two floats: if the result is subnormal, for example, 2^n itself is out of
// range. The low bits of z hold n + 254: half of that is the biased exponent of 2^(n / 2).
struct Powers {
  float first, second;
};
Powers split_power(float z) {
  const auto bits = std::bit_cast<std::uint32_t>(z);
  const std::uint32_t half = bits >> 1;
  return {std::bit_cast<float>(half << 23), std::bit_cast<float>((bits - half) << 23)};
}

// exp(x) 2^k, where `round` is kExpRound + k.
float exp_scaled(float x, float round) {
  x = x > c::kExpHighest ? c::kExpHighest : x;
  x = x < c::kExpLowest ? c::kExpLowest : x;
  // x = n ln 2 + r; n is left in the low bits of z, above them a constant.
  const float z = fused(x, c::kLog2E, round);
  const float n = z - round;
  const float r = fused(n, -c::kLn2Low, fused(n, -c::kLn2High, x));
  const float y = fused(fused(polynomial(r, c::kExp), r, 1.0f), r, 1.0f);
  const auto [first, second] = split_power(z);
  return y * first * second;
}

// ---- steps in f64

// x = n ln 2 + r, and 2^n, for a float x within the bounds of exp.
struct WideExponent {
  double r, power;
};
// The low bits of z hold n + 1023.
double wide_power(double z) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(z) << 52); }
WideExponent split_exponent(double x) {
  const double z = fused(x, c::kWideLog2E, c::kWideExpRound);
  const double n = z - c::kWideExpRound;
  return {fused(n, -c::kWideLn2, x), wide_power(z)};
}

// x = m 2^e with m in [2/3, 4/3), for a normal x.
struct WideLogarithm {
  double e, m;
};
WideLogarithm split_logarithm(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t biased = (bits - c::kWideLogSplit + c::kWideOne) >> 52;
  return {static_cast<double>(biased) - 1023.0,
          std::bit_cast<double>(bits - (biased << 52) + c::kWideOne)};
}
double wide_log1p(double f) { return fused(polynomial(f, c::kWideLog), f * f, f); }

// log2(x) of a float x >= 0.
double wide_log2(float x) {
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (!(x < kInfinity)) return x;
  const auto [e, m] = split_logarithm(x);
  return fused(wide_log1p(m - 1.0), c::kWideLog2E, e);
}

// 2^t for |t| <= kPowerHighest.
double wide_exp2(double t) {
  const double z = t + c::kWideExpRound;
  const double d = (t - (z - c::kWideExpRound)) * c::kWideLn2;
  const double power = wide_power(z);
  return fused(power, polynomial(d, c::kWideExp) * d, power);
}

// a = quarters * pi / 2 + r with |r| <= pi / 4, up to multiples of four quarters.
struct Turn {
  std::uint64_t quarters;
  double r;
};
Turn small_turn(float a) {
  const double z = fused(static_cast<double>(a), c::kTwoOverPi, c::kWideRound);
  const double n = z - c::kWideRound;
  const double r = fused(n, -c::kHalfPiLow, fused(n, -c::kHalfPiHigh, static_cast<double>(a)));
  return {std::bit_cast<std::uint64_t>(z), r};
}

// The 32 bits of 2 / pi after the first `skipped` ones.
std::uint64_t two_over_pi(std::uint32_t skipped) {
  const std::uint32_t word = skipped / 32;
  const std::uint64_t two =
      std::uint64_t{c::kTwoOverPiBits[word]} << 32 | c::kTwoOverPiBits[word + 1];
  return two << skipped % 32 >> 32;
}
// Payne and Hanek's reduction: whole turns drop out of the product with 2 / pi, and the 64 bits
// that remain are computed in integers.
Turn large_turn(float a) {
  const auto bits = std::bit_cast<std::uint32_t>(a);
  const std::uint64_t m = (bits & 0x7fffff) | 0x800000;
  // a = m 2^e; the first e - 2 bits of 2 / pi give multiples of four quarters.
  const std::uint32_t skipped = (bits >> 23) - 150 - 2;
  std::uint64_t p = m * two_over_pi(skipped + 64) >> 32;
  p += m * two_over_pi(skipped + 32);
  p += m * two_over_pi(skipped) << 32;
  // p is in units of 2^-62 quarters; the rest of it after whole quarters, as a signed number.
  constexpr double kUnit = c::kHalfPiHigh * 0x1p-64;
  return {(p >> 62) + (p >> 61 & 1),
          static_cast<double>(static_cast<std::int64_t>(p << 2)) * kUnit};
}

Turn turn_of(float a) { return a < c::kTrigLarge ? small_turn(a) : large_turn(a); }

// The sine after `quarters` more quarter turns.
double wide_sin(const Turn& turn, std::uint64_t quarters) {
  const std::uint64_t q = turn.quarters + quarters;
  const double s = turn.r * turn.r;
  const double y = (q & 1) != 0 ? fused(polynomial(s, c::kWideCos), s, 1.0)
                                : fused(polynomial(s, c::kWideSin), s * turn.r, turn.r);
  return (q & 2) != 0 ? -y : y;
}

// The angle of the point (x, y) with x, y >= 0, not both 0: in [0, pi / 2].
double wide_angle(double y, double x) {
  const double low = y < x ? y : x;
  const double high = y < x ? x : y;
  const bool far = low > high * c::kTanEighthPi;
  const double r = far ? (low - high) / (low + high) : low / high;
  const double s = r * r;
  const double near_axis = fused(polynomial(s, c::kWideAtan), s * r, r);
  const double angle = far ? c::kQuarterPi + near_axis : near_axis;
  return y < x ? angle : c::kHalfPiHigh - angle;
}

// sqrt(1 - x^2) of a float x.
double wide_other_side(double x) { return std::sqrt(fused(-x, x, 1.0)); }

// log(1 + f) of a finite f > -1.
double wide_log_above_one(double f) {
  const auto [e, m] = split_logarithm(1.0 + f);
  // 1 + f may have lost digits of a small f.
  return fused(e, c::kWideLn2, wide_log1p(e == 0 ? f : m - 1.0));
}

// e^x - 1 for any float x, which is clamped first.
double wide_expm1(float x) {
  float bounded = x > c::kExpHighest ? c::kExpHighest : x;
  bounded = bounded < c::kExpLowest ? c::kExpLowest : bounded;
  const auto [r, power] = split_exponent(bounded);
  return fused(power, polynomial(r, c::kWideExp) * r, power - 1.0);
}

// ---- sums

template <class T>
T dot_of(const T* x, std::size_t x_stride, const T* w, std::size_t w_stride, std::size_t k) {
  return in_blocks<T>(
      k, [&](T sum, std::size_t i) { return fused(x[i * x_stride], w[i * w_stride], sum); });
}

template <class T>
T maximum_of(T a, T b) {
  if (a == b) return std::signbit(a) ? b : a;
  return a < b || b != b ? b : a;
}

template <class T>
T minimum_of(T a, T b) {
  if (a == b) return std::signbit(a) ? a : b;
  return b < a || b != b ? b : a;
}

}  // namespace

float exp(float x) { return exp_scaled(x, c::kExpRound); }

float log(float x) {
  if (x == 0) return -kInfinity;
  if (!(x >= 0)) return kNan;
  if (x == kInfinity) return x;
  const bool tiny = x < std::numeric_limits<float>::min();
  const auto bits = std::bit_cast<std::int32_t>(tiny ? x * 0x1p23f : x);
  // x = m 2^e with m in [2/3, 4/3).
  const std::int32_t e = (bits - c::kLogSplit) >> 23;
  const float f = std::bit_cast<float>(bits - e * (1 << 23)) - 1.0f;
  const float exponent = static_cast<float>(e) - (tiny ? 23.0f : 0.0f);
  const float y = fused(polynomial(f, c::kLog), f * f, f);
  return fused(exponent, c::kLn2High, y);
}

float tanh(float x) {
  const float whole = std::fabs(x);
  const float a = whole > c::kTanhOne ? c::kTanhOne : whole;
  const std::uint32_t half_binade = std::bit_cast<std::uint32_t>(a) >> c::kTanhShift;
  const std::uint32_t piece = (half_binade < c::kTanhFirst ? c::kTanhFirst : half_binade) % 16;
  const float d = a - c::kTanhCenter[piece];
  const float value = a < c::kTanhSplit ? a : c::kTanhValue[piece];
  return std::copysign(fused(polynomial(d, piece, c::kTanhTerms), d, value), x);
}

float erf(float x) {
  const float a = std::fabs(x);
  float y;
  if (a < c::kErfSplit) {
    y = fused(polynomial(a * a, c::kErf), a, a);
  } else {
    const float t = a > c::kErfOne ? c::kErfOne : a;
    y = 1.0f - exp(fused(polynomial(t, c::kErfTail), t, -t));
  }
  return std::copysign(y, x);
}

float sigmoid(float x) {
  return c::kSigmoidScale / (c::kSigmoidScale + exp_scaled(-x, c::kSigmoidRound));
}

float ndtr(float x) {
  const float a = std::fabs(x) > c::kNdtrZero ? c::kNdtrZero : std::fabs(x);
  // a^2 = s + low, and -a^2 = 2 n ln 2 + r.
  const float s = a * a;
  const float low = fused(a, a, -s);
  const float z = fused(s, -0.5f * c::kLog2E, c::kExpRound);
  const float n = z - c::kExpRound;
  const float r = fused(n, -2 * c::kLn2Low, fused(n, -2 * c::kLn2High, -s)) - low;
  const float y = polynomial(r, c::kExpOfHalf) * polynomial(a, c::kNdtrNumerator) /
                  polynomial(a, c::kNdtrDenominator);
  const auto [first, second] = split_power(z);
  const float tail = y * first * second;
  return std::signbit(x) ? tail : 1.0f - tail;
}

float log1p(float x) {
  if (x < -1) return kNan;
  if (x == -1) return -kInfinity;
  if (!(x < kInfinity)) return x;
  return std::copysign(static_cast<float>(wide_log_above_one(x)), x);
}

float expm1(float x) { return std::copysign(static_cast<float>(wide_expm1(x)), x); }

float sin(float x) {
  if (!(std::fabs(x) < kInfinity)) return kNan;
  const auto y = static_cast<float>(wide_sin(turn_of(std::fabs(x)), 0));
  return std::signbit(x) ? -y : y;
}

float cos(float x) {
  if (!(std::fabs(x) < kInfinity)) return kNan;
  return static_cast<float>(wide_sin(turn_of(std::fabs(x)), 1));
}

float tan(float x) {
  if (!(std::fabs(x) < kInfinity)) return kNan;
  const Turn turn = turn_of(std::fabs(x));
  const auto y = static_cast<float>(wide_sin(turn, 0) / wide_sin(turn, 1));
  return std::signbit(x) ? -y : y;
}

float asin(float x) {
  const double a = std::fabs(x);
  return std::copysign(static_cast<float>(wide_angle(a, wide_other_side(a))), x);
}

float acos(float x) {
  const double a = std::fabs(x);
  const double angle = wide_angle(wide_other_side(a), a);
  return static_cast<float>(x < 0 ? 2 * c::kHalfPiHigh - angle : angle);
}

float atan(float x) { return std::copysign(static_cast<float>(wide_angle(std::fabs(x), 1.0)), x); }

float sinh(float x) {
  const double e = wide_expm1(std::fabs(x));
  return std::copysign(static_cast<float>(0.5 * (e + e / (e + 1.0))), x);
}

float cosh(float x) {
  const double e = wide_expm1(std::fabs(x)) + 1.0;
  return static_cast<float>(0.5 * (e + 1.0 / e));
}

float asinh(float x) {
  const double a = std::fabs(x);
  if (!(a < kInfinity)) return x;
  const double square = a * a;
  const double f = a + square / (1.0 + std::sqrt(1.0 + square));
  return std::copysign(static_cast<float>(wide_log_above_one(f)), x);
}

float acosh(float x) {
  if (x < 1) return kNan;
  if (!(x < kInfinity)) return x;
  const double t = x - 1.0;
  return static_cast<float>(wide_log_above_one(t + std::sqrt(t * (t + 2.0))));
}

float atanh(float x) {
  const double a = std::fabs(x);
  if (!(a <= 1)) return kNan;
  if (a == 1) return std::copysign(kInfinity, x);
  return std::copysign(static_cast<float>(0.5 * wide_log_above_one(2.0 * a / (1.0 - a))), x);
}

float power(float x, float y) {
  const float a = std::fabs(x);
  if (y == 0 || x == 1 || (a == 1 && std::fabs(y) == kInfinity)) return 1.0f;
  const bool whole = std::trunc(y) == y;
  if (x < 0 && a < kInfinity && !whole) return kNan;
  const double wanted = y * wide_log2(a);
  double t = wanted > c::kPowerHighest ? c::kPowerHighest : wanted;
  t = t < -c::kPowerHighest ? -c::kPowerHighest : t;
  const auto size = static_cast<float>(wide_exp2(t));
  const bool odd = whole && std::trunc(y * 0.5f) != y * 0.5f;
  return std::signbit(x) && odd ? -size : size;
}

double exp(double x) { return std::exp(x); }
double log(double x) { return std::log(x); }
double tanh(double x) { return std::tanh(x); }
double erf(double x) { return std::erf(x); }
double ndtr(double x) { return 0.5 * std::erfc(-x * c::kRootHalf); }
double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (std::signbit(x) ? e : 1.0) / (1.0 + e);
}
double log1p(double x) { return std::log1p(x); }
double expm1(double x) { return std::expm1(x); }
double sin(double x) { return std::sin(x); }
double cos(double x) { return std::cos(x); }
double tan(double x) { return std::tan(x); }
double asin(double x) { return std::asin(x); }
double acos(double x) { return std::acos(x); }
double atan(double x) { return std::atan(x); }
double sinh(double x) { return std::sinh(x); }
double cosh(double x) { return std::cosh(x); }
double asinh(double x) { return std::asinh(x); }
double acosh(double x) { return std::acosh(x); }
double atanh(double x) { return std::atanh(x); }
double power(double x, double y) { return std::pow(x, y); }

float maximum(float a, float b) { return maximum_of(a, b); }
float minimum(float a, float b) { return minimum_of(a, b); }
double maximum(double a, double b) { return maximum_of(a, b); }
double minimum(double a, double b) { return minimum_of(a, b); }

float dot(const float* x, std::size_t x_stride, const float* w, std::size_t w_stride,
          std::size_t k) {
  return dot_of(x, x_stride, w, w_stride, k);
}
double dot(const double* x, std::size_t x_stride, const double* w, std::size_t w_stride,
           std::size_t k) {
  return dot_of(x, x_stride, w, w_stride, k);
}

float sum(std::span<const float> x) { return row_sum(x.data(), x.size()); }
double sum(std::span<const double> x) { return row_sum(x.data(), x.size()); }

float strided_sum(const float* x, std::size_t stride, std::size_t n) {
  return blocks_as_tree<float>(n, [&](float s, std::size_t i) { return s + x[i * stride]; });
}
double strided_sum(const double* x, std::size_t stride, std::size_t n) {
  return blocks_as_tree<double>(n, [&](double s, std::size_t i) { return s + x[i * stride]; });
}

}  // namespace limpid::arithmetic
