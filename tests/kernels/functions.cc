#include "tests/kernels/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/arithmetic.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

double sigmoid64(double x) {
  return x >= 0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x));
}
double ndtr64(double x) { return 0.5 * std::erfc(-x * 0x1.6a09e667f3bcdp-1); }
double rsqrt64(double x) { return 1.0 / std::sqrt(x); }
double sign64(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

float sqrt32(float x) { return std::sqrt(x); }
float rsqrt32(float x) { return 1.0f / std::sqrt(x); }
float floor32(float x) { return std::floor(x); }
float ceil32(float x) { return std::ceil(x); }
float round32(float x) { return std::nearbyint(x); }
float truncate32(float x) { return std::trunc(x); }
float sign32(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }

namespace ar = arithmetic;

constexpr ElementaryFunction kFunctions[] = {
    {"exp", Element::kExp, ar::exp, std::exp, 0.90, 0x588b6ad5e3a3991c},
    {"log", Element::kLog, ar::log, std::log, 0.95, 0x8ed9ccda3ef875a2},
    {"tanh", Element::kTanh, ar::tanh, std::tanh, 0.63, 0x9e2c4c1c19f31845},
    {"erf", Element::kErf, ar::erf, std::erf, 1.00, 0x26e796215fed76be},
    {"sigmoid", Element::kSigmoid, ar::sigmoid, sigmoid64, 2.49, 0xd22ac5cbdab58525},
    {"ndtr", Element::kNdtr, ar::ndtr, ndtr64, 5.73, 0x00dd97b52a9b0b4d},
    {"log1p", Element::kLog1p, ar::log1p, std::log1p, 0.51, 0xd5ce368a6078abce},
    {"expm1", Element::kExpm1, ar::expm1, std::expm1, 0.51, 0xbe401cd286111eae},
    {"sin", Element::kSin, ar::sin, std::sin, 0.51, 0x86c2eec925808ad0},
    {"cos", Element::kCos, ar::cos, std::cos, 0.51, 0x17bb3a96eb1731b8},
    {"tan", std::nullopt, ar::tan, std::tan, 0.51, 0xa5851e64b091b33a},
    {"asin", std::nullopt, ar::asin, std::asin, 0.51, 0xbd450314d5987b63},
    {"acos", std::nullopt, ar::acos, std::acos, 0.51, 0x58752c4715886fcd},
    {"atan", std::nullopt, ar::atan, std::atan, 0.51, 0xd2033d2624e9cf34},
    {"sinh", std::nullopt, ar::sinh, std::sinh, 0.51, 0x60f64c2d0b8feba3},
    {"cosh", std::nullopt, ar::cosh, std::cosh, 0.51, 0xfb6e174c45d287cc},
    {"asinh", std::nullopt, ar::asinh, std::asinh, 0.51, 0x728d97b5b89e47bd},
    {"acosh", std::nullopt, ar::acosh, std::acosh, 0.51, 0x56816834f27fcc7a},
    {"atanh", std::nullopt, ar::atanh, std::atanh, 0.51, 0xcff36a8c3854f230},
    {"sqrt", Element::kSqrt, sqrt32, std::sqrt, 0.50, 0x197536412dec28c3},
    {"rsqrt", Element::kRsqrt, rsqrt32, rsqrt64, 1.50, 0x23b38002f414e5c7},
    {"floor", Element::kFloor, floor32, std::floor, 0, 0x18d04d7cd8a17ee1},
    {"ceil", Element::kCeil, ceil32, std::ceil, 0, 0x28de156f226af8b1},
    {"round", Element::kRound, round32, std::nearbyint, 0, 0xb52f413009508c39},
    {"truncate", Element::kTruncate, truncate32, std::trunc, 0, 0x82cc1313562104c9},
    {"sign", Element::kSign, sign32, sign64, 0, 0x2caa3fa4508e43df},
};

}  // namespace

std::span<const ElementaryFunction> elementary_functions() { return kFunctions; }

std::uint64_t hash_floats(std::span<const float> values, std::uint64_t seed) {
  std::uint64_t h = seed;
  for (const float x : values) h = (h ^ (std::isnan(x) ? 0x7fc00000u : bits(x))) * 0x100000001b3ull;
  return h;
}

void Errors::add(float x, float got, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (same(got, nearest)) {
    if (!std::isfinite(got)) return;
  } else {
    ++not_nearest;
    if (!std::isfinite(got) || !std::isfinite(nearest) ||
        std::signbit(got) != std::signbit(nearest)) {
      if (wrong.empty()) wrong = fmt::format("{:a} gives {:a}, not {:a}", x, got, nearest);
      return;
    }
  }
  // One over the distance of neighbouring floats at `exact`, by its exponent.
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(exact) >> 52 & 0x7ff);
  const std::int64_t places = 23 - std::max(biased - 1023, -126);
  const double error = std::fabs(got - exact) * std::bit_cast<double>((1023 + places) << 52);
  if (error > largest) {
    largest = error;
    at = x;
  }
}

void Errors::add(const Errors& other) {
  if (other.largest > largest) {
    largest = other.largest;
    at = other.at;
  }
  not_nearest += other.not_nearest;
  if (wrong.empty()) wrong = other.wrong;
}

std::pair<float, float> power_pair(std::uint64_t i) {
  const std::uint32_t word = Key(12).word(i);
  if (i % 3 == 0) return {1.0f + 0.01f * value(11, i), 8000.0f * value(13, i)};
  if (i % 3 == 1) return {from_bits(word & 0x7fffffff), 1.1f * value(14, i)};
  return {from_bits(word), from_bits(Key(15).word(i))};
}

}  // namespace limpid::kernels
