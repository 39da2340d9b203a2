// The constants of the f32 elementary functions, shared by the scalar specification (arithmetic.cc)
// and the SIMD kernels. docs/arithmetic.md says where they come from. Polynomials are written from
// the highest power down, as Horner's rule takes them.
#pragma once

#include <cstdint>

namespace limpid::arithmetic::coefficients {

inline constexpr float kLog2E = 0x1.715476p+0f;
// ln 2 as an f32 and the rest of it.
inline constexpr float kLn2High = 0x1.62e43p-1f;
inline constexpr float kLn2Low = -0x1.05c61p-29f;

// exp: outside of these bounds the result is +inf or +0.
inline constexpr float kExpHighest = 100.0f;
inline constexpr float kExpLowest = -110.0f;
// sigmoid: below its negation the result is +0.
inline constexpr float kSigmoidHighest = 110.0f;
// Adding 3 * 2^22 rounds to an integer n and leaves it in the low bits; 254 is twice the bias of an
// exponent, so that half of those bits is the biased exponent of 2^(n / 2).
inline constexpr float kExpRound = 0x1.8p23f + 254.0f;
// exp(r) = 1 + r (1 + r P(r)) for |r| <= ln(2) / 2.
inline constexpr float kExp[] = {0x1.6ac74ep-10f, 0x1.123dep-7f, 0x1.555858p-5f, 0x1.55548cp-3f,
                                 0x1.fffffcp-2f};

// log: the bits of 2/3, where one binade of mantissas begins.
inline constexpr std::int32_t kLogSplit = 0x3f2aaaab;
// log(1 + f) = f + f^2 P(f) for 2/3 <= 1 + f < 4/3.
inline constexpr float kLog[] = {-0x1.fe12dcp-4f, 0x1.203b18p-3f,  -0x1.f6e708p-4f,
                                 0x1.1e78ecp-3f,  -0x1.557d62p-3f, 0x1.99d5e4p-3f,
                                 -0x1.ffff96p-3f, 0x1.5554fap-2f,  -0.5f};

// tanh(a) = a + a^3 P(a^2) below kTanhSplit, 1 - 2 / (exp(2 a) + 1) above, 1 from kTanhOne on.
inline constexpr float kTanhSplit = 1.0f;
inline constexpr float kTanhOne = 10.0f;
inline constexpr float kTanh[] = {-0x1.77dd36p-12f, 0x1.2da4f8p-9f, -0x1.0460c4p-7f, 0x1.600992p-6f,
                                  -0x1.b962220p-5f, 0x1.110be2p-3f, -0x1.55553cp-2f};

// erf(a) = a + a P(a^2) below kErfSplit, 1 - exp(a Q(a) - a) above, 1 from kErfOne on.
inline constexpr float kErfSplit = 1.0f;
inline constexpr float kErfOne = 4.0f;
inline constexpr float kErf[] = {0x1.4771fep-14f, -0x1.a3515ep-11f, 0x1.53f224p-8f, -0x1.b7f71ap-6f,
                                 0x1.ce2ce6p-4f,  -0x1.81273ep-2f,  0x1.06eba8p-3f};
inline constexpr float kErfTail[] = {-0x1.d471dp-17f, 0x1.6f9b24p-12f, -0x1.ec7e62p-9f,
                                     0x1.896142p-6f,  -0x1.b459acp-4f, -0x1.451abap-1f,
                                     -0x1.0790e6p-3f};

}  // namespace limpid::arithmetic::coefficients
