// Rotary position embedding (RoPE): the angles by which a transformer rotates queries and keys.
// limpid/ops/rotary.h rotates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limpid/function/value.h"

namespace limpid::nn {

// Llama 3.1's scaling of the rotary frequencies for contexts longer than the original training
// context (Grattafiori et al. 2024, and the code of its model card). A frequency with fewer than
// `low` rotations in `context` tokens is divided by `factor`; one with more than `high` rotations
// stays; in between the two are interpolated linearly in the number of rotations.
struct RotaryScaling {
  double factor = 8;
  double low = 1;
  double high = 4;
  std::int64_t context = 8192;

  bool operator==(const RotaryScaling&) const = default;
};

// Throws kInvalidArgument for an odd head dimension, a base of 1 or less, and a scaling with factor
// < 1, context < 1, or without 0 <= low < high.
void check_rotary(std::int64_t head, double base, const std::optional<RotaryScaling>& scaling);

// The frequencies base^(-2 i / head) for i < head / 2, in radians per position (Su et al. 2021,
// section 3.2.2); `head` is the head dimension. Within 1 ulp of f32, and the same bits on every
// machine. With divisors, one for each pair, each frequency is divided by its own. Throws what
// check_rotary and check_divisors throw.
std::vector<float> rotary_frequencies(std::int64_t head, double base,
                                      const std::optional<RotaryScaling>& scaling = {},
                                      std::span<const double> divisors = {});

// Throws kInvalidArgument unless there is no divisor or one above 0 for each of head / 2 pairs.
void check_divisors(std::int64_t head, std::span<const double> divisors);

// a^b of positive numbers and the natural logarithm, in f64 and with the same bits on every
// machine.
double exact_power(double a, double b);
double exact_log(double x);

// The operands of rotary_embedding.
struct RotaryAngles {
  Value cos, sin;  // f32 (positions, pairs)
};
// cos and sin of p * frequencies[i] for each p of `positions`, i32 (positions), and each pair i.
RotaryAngles rotary_angles(Value positions, const std::vector<float>& frequencies);

}  // namespace limpid::nn
