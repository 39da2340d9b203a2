// The elementary functions of f32 as their tests and the sweep over all floats see them: the
// scalar specification, a more exact value, the stated bound, and the published hash.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "limpid/kernels/kernels.h"

namespace limpid::kernels {

struct ElementaryFunction {
  const char* name;
  std::optional<Element> element;  // of the kernels; some functions have none
  float (*specification)(float);
  double (*exact)(double);
  double bound;        // units in the last place; 0 where the function is exact
  std::uint64_t hash;  // of the results for the sample: every kSampleStep-th float, from 0 on
};

// A prime, so that every exponent and both signs occur with varying mantissas.
inline constexpr std::uint64_t kSampleStep = 4099;
inline constexpr std::uint64_t kFloats = 1ull << 32;

std::span<const ElementaryFunction> elementary_functions();

// FNV-1a, a 32-bit word at a time instead of a byte; every NaN counts as 0x7fc00000.
inline constexpr std::uint64_t kHashSeed = 0xcbf29ce484222325ull;
std::uint64_t hash_floats(std::span<const float> values, std::uint64_t seed = kHashSeed);

// The errors found over many arguments.
struct Errors {
  double largest = 0;
  float at = 0;
  std::uint64_t not_nearest = 0;
  std::string wrong;  // an argument with a wrong sign, infinity, zero or NaN, and what came

  // `got` is the computed value at x, `exact` a more exact one.
  void add(float x, float got, double exact);
  void add(const Errors& other);
};

// Pair i of the endless sample that power is tried on: bases near 1 with large exponents, any
// positive base with a small exponent, any two numbers at all.
std::pair<float, float> power_pair(std::uint64_t i);
inline constexpr double kPowerBound = 0.51;
// Of the first kPowerSample pairs.
inline constexpr std::uint64_t kPowerSample = 1u << 18;
inline constexpr std::uint64_t kPowerHash = 0xc15251400f14a836;

}  // namespace limpid::kernels
