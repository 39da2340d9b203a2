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
inline constexpr float kExpHighest = 110.0f;
inline constexpr float kExpLowest = -110.0f;
// Adding 3 * 2^22 rounds to an integer n and leaves it in the low bits; 254 is twice the bias of an
// exponent, so that half of those bits is the biased exponent of 2^(n / 2).
inline constexpr float kExpRound = 0x1.8p23f + 254.0f;
// exp(r) = 1 + r (1 + r P(r)) for |r| <= ln(2) / 2.
inline constexpr float kExp[] = {0x1.6ac74ep-10f, 0x1.123dep-7f, 0x1.555858p-5f, 0x1.55548cp-3f,
                                 0x1.fffffcp-2f};
inline constexpr float kWholeExp[] = {kExp[0], kExp[1], kExp[2], kExp[3], kExp[4], 1.0f, 1.0f};

// sigmoid(x) = s / (s + s exp(-x)): the scale s = 2^-64 leaves room where exp(-x) alone would be
// infinite, and 1 / (1 + exp(-x)) not yet 0. It comes out of the exponent, n - 64 + 254.
inline constexpr float kSigmoidScale = 0x1p-64f;
inline constexpr float kSigmoidRound = kExpRound - 64.0f;

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

// ndtr(-a) = exp(-a^2 / 2) P(a) / Q(a) for a >= 0, 0 from kNdtrZero on. kExpOfHalf is kExp as
// powers of 2 r, with the two terms before it.
inline constexpr float kNdtrZero = 14.3f;
inline constexpr float kExpOfHalf[] = {kExp[0] / 64, kExp[1] / 32, kExp[2] / 16, kExp[3] / 8,
                                       kExp[4] / 4,  0.5f,         1.0f};
inline constexpr float kNdtrNumerator[] = {0x1.0cc75ap-8f, 0x1.4c0a46p-5f, 0x1.76a760p-3f,
                                           0x1.c06708p-2f, 0.5f};
inline constexpr float kNdtrDenominator[] = {0x1.50dc32p-7f, 0x1.a02d74p-4f, 0x1.dfee1ep-2f,
                                             0x1.338612p+0f, 0x1.ac75b4p+0f, 1.0f};

// ---- functions that are computed in f64 and rounded to f32 once

inline constexpr double kWideLog2E = 0x1.71547652b82fep+0;
inline constexpr double kWideLn2 = 0x1.62e42fefa39efp-1;
// Adding 3 * 2^51 rounds to an integer n and leaves it in the low bits; 1023 is the bias of an
// exponent.
inline constexpr double kWideRound = 0x1.8p52;
inline constexpr double kWideExpRound = 0x1.8p52 + 1023.0;
// exp(r) = 1 + r P(r) for |r| <= ln(2) / 2.
inline constexpr double kWideExp[] = {
    0x1.a019f6f66dbfbp-13, 0x1.6d74927b5e32cp-10, 0x1.1111a6779965bp-7, 0x1.5554ada4d1f3ep-5,
    0x1.555554c5ff79ep-3,  0x1.00000028195b1p-1,  0x1.0000000022500p+0};

// The bits of 2/3 and of 1.
inline constexpr std::uint64_t kWideLogSplit = 0x3fe5555555555555;
inline constexpr std::uint64_t kWideOne = 0x3ff0000000000000;
// log(1 + f) = f + f^2 P(f) for 2/3 <= 1 + f < 4/3.
inline constexpr double kWideLog[] = {
    0x1.d4e14eb18abacp-4, -0x1.9b386606e9740p-4, 0x1.0c9d0dffd55e2p-4, -0x1.42bdb15189e65p-4,
    0x1.798158324518cp-4, -0x1.9afed52962a68p-4, 0x1.c6d185ee23146p-4, -0x1.fff2647d44862p-4,
    0x1.24935c48c3ee0p-3, -0x1.555575031c476p-3, 0x1.9999961e2b0adp-3, -0x1.ffffffc6e5405p-3,
    0x1.5555555705869p-2, -0x1.0000000005334p-1};

// power: beyond these powers of two the result is +inf or +0.
inline constexpr double kPowerHighest = 200.0;

// sin and cos: pi / 2 as an f64 and the rest of it, and 2 / pi.
inline constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
inline constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
// From here on arguments are reduced with integers, by the first 224 bits of 2 / pi.
inline constexpr float kTrigLarge = 0x1p30f;
inline constexpr std::uint32_t kTwoOverPiBits[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                                   0xdb629599, 0x3c439041, 0xfe5163ab};
// sin(r) = r + r^3 P(r^2) and cos(r) = 1 + r^2 Q(r^2) for |r| <= pi / 4.
inline constexpr double kWideSin[] = {0x1.6cd1afedae1c0p-19, -0x1.a00f7e122a09bp-13,
                                      0x1.1111086909defp-7, -0x1.5555554c70008p-3};
inline constexpr double kWideCos[] = {0x1.99164051f6094p-16, -0x1.6c07efd393331p-10,
                                      0x1.55553c7499d2dp-5, -0x1.ffffffcb77cc1p-2};

// atan(r) = r + r^3 P(r^2) for |r| <= tan(pi / 8).
inline constexpr double kTanEighthPi = 0x1.a827999fcef32p-2;
inline constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
inline constexpr double kWideAtan[] = {
    -0x1.36ade7b66cd4ap-5, 0x1.1e5c736808a79p-4, -0x1.7082c03b436f3p-4, 0x1.c6d1ec8454a48p-4,
    -0x1.2490c30bca015p-3, 0x1.999991fc48339p-3, -0x1.5555554edf7a8p-2};

// The slopes of erf and ndtr at 0, and GELU's form with tanh, which is x sigmoid(2 u),
// u = sqrt(2 / pi) (x + c x^3). In f32 each is rounded first.
inline constexpr double kRootHalf = 0.70710678118654752;
inline constexpr double kTwoOverRootPi = 1.1283791670955126;
inline constexpr double kOneOverRootTwoPi = 0.39894228040143268;
inline constexpr double kTwiceRootTwoOverPi = 1.5957691216057308;
inline constexpr double kGeluCubic = 0.044715;

}  // namespace limpid::arithmetic::coefficients
