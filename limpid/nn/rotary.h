// Rotary positions: the angles by which a transformer turns queries and keys. The turning itself is
// an op, limpid/ops/rotary.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limpid/function/value.h"

namespace limpid::nn {

// How Llama 3.1 stretches the waves of a model for contexts longer than the one it was trained on
// first (Grattafiori et al. 2024, and its model card's code): a wave that turns fewer than `low`
// times in `context` tokens becomes `factor` times as long, one that turns more than `high` times
// stays, and between them frequencies are blended in proportion to their turns.
struct RotaryScaling {
  double factor = 8;
  double low = 1;
  double high = 4;
  std::int64_t context = 8192;

  bool operator==(const RotaryScaling&) const = default;
};

// Throws kInvalidArgument for an odd head, a base of 1 or less, and a scaling with a factor below
// 1, a context below 1 or without 0 <= low < high.
void check_rotary(std::int64_t head, double base, const std::optional<RotaryScaling>& scaling);

// base^(-2 i / head) for i below head / 2: the angle of pair i from one position to the next, in
// radians (Su et al. 2021, section 3.2.2). Correct to the last place of f32 or the one before it,
// and the same on every machine. Throws what check_rotary throws.
std::vector<float> rotary_frequencies(std::int64_t head, double base,
                                      const std::optional<RotaryScaling>& scaling = {});

// What pairs are turned by, as rotary_embedding takes it.
struct RotaryAngles {
  Value cos, sin;  // f32 (positions, pairs)
};
// Of position p and pair i: cos and sin of p * frequencies[i], for positions i32 (positions).
RotaryAngles rotary_angles(Value positions, const std::vector<float>& frequencies);

}  // namespace limpid::nn
