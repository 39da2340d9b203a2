// Rotary positions: the angles by which a transformer turns queries and keys. The turning itself is
// an op, limpid/ops/rotary.h.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/function/value.h"

namespace limpid::nn {

// base^(-2 i / head) for i below head / 2: the angle of pair i from one position to the next, in
// radians (Su et al. 2021, section 3.2.2). Correct to the last place of f32 or the one before it,
// and the same on every machine. Throws kInvalidArgument for an odd head and a base of 1 or less.
std::vector<float> rotary_frequencies(std::int64_t head, double base);

// What pairs are turned by, as rotary_embedding takes it.
struct RotaryAngles {
  Value cos, sin;  // f32 (positions, pairs)
};
// Of position p and pair i: cos and sin of p * frequencies[i], for positions i32 (positions).
RotaryAngles rotary_angles(Value positions, const std::vector<float>& frequencies);

}  // namespace limpid::nn
