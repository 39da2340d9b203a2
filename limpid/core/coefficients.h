// The constants of the f32 elementary functions, shared by the scalar specification (arithmetic.cc)
// and the SIMD kernels. docs/arithmetic.md gives their origin. Polynomials are in descending
// powers, for Horner's rule.
#pragma once

#include <cstdint>

namespace limpid::arithmetic::coefficients {

inline constexpr float kLog2E = 0x1.715476p+0f;
// ln 2, split into an f32 and the remainder.
inline constexpr float kLn2High = 0x1.62e43p-1f;
inline constexpr float kLn2Low = -0x1.05c61p-29f;

// exp: beyond these bounds the result is +inf or +0.
inline constexpr float kExpHighest = 110.0f;
inline constexpr float kExpLowest = -110.0f;
// Adding 3 * 2^22 rounds to an integer n and leaves it in the low bits; 254 is twice the exponent
// bias, so half of those bits is the biased exponent of 2^(n / 2).
inline constexpr float kExpRound = 0x1.8p23f + 254.0f;
// exp(r) = 1 + r (1 + r P(r)) for |r| <= ln(2) / 2.
inline constexpr float kExp[] = {0x1.6ac74ep-10f, 0x1.123dep-7f, 0x1.555858p-5f, 0x1.55548cp-3f,
                                 0x1.fffffcp-2f};

// sigmoid(x) = s / (s + s exp(-x)): exp(-x) overflows where the result is not yet 0; the scale s =
// 2^-64 avoids that. The scale enters through the exponent, n - 64 + 254.
inline constexpr float kSigmoidScale = 0x1p-64f;
inline constexpr float kSigmoidRound = kExpRound - 64.0f;

// log: the bits of 2/3, the start of the mantissa range [2/3, 4/3).
inline constexpr std::int32_t kLogSplit = 0x3f2aaaab;
// log(1 + f) = f + f^2 P(f) for 2/3 <= 1 + f < 4/3.
inline constexpr float kLog[] = {-0x1.fe12dcp-4f, 0x1.203b18p-3f,  -0x1.f6e708p-4f,
                                 0x1.1e78ecp-3f,  -0x1.557d62p-3f, 0x1.99d5e4p-3f,
                                 -0x1.ffff96p-3f, 0x1.5554fap-2f,  -0.5f};

// tanh(a) = value + d P(d), d = a - center. Each half of a binade has its own center, value and P.
// The low four bits of a's bits >> kTanhShift are the index into the tables. Below kTanhSplit there
// is one piece, with index kTanhFirst; its value is a itself. From kTanhOne on the result is 1.
// Each center is chosen so that its tanh is almost exactly an f32.
inline constexpr float kTanhSplit = 0.25f;
inline constexpr float kTanhOne = 10.0f;
inline constexpr int kTanhShift = 22;
inline constexpr std::uint32_t kTanhFirst = 0xf9;
inline constexpr float kTanhCenter[16] = {0x1.3dccd4p+1f,
                                          0x1.bd745ap+1f,
                                          0x1.401728p+2f,
                                          0x1.c2423ep+2f,
                                          0x1.3947aep+3f,
                                          0,
                                          0,
                                          0,
                                          0,
                                          0,
                                          0x1.3edd3ep-2f,
                                          0x1.c16e58p-2f,
                                          0x1.401808p-1f,
                                          0x1.c10af4p-1f,
                                          0x1.410236p+0f,
                                          0x1.c1b5c8p+0f};
inline constexpr float kTanhValue[16] = {0x1.f8e894p-1f,
                                         0x1.ff077ep-1f,
                                         0x1.fff422p-1f,
                                         0x1.ffffccp-1f,
                                         0x1p+0f,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0x1.34f156p-2f,
                                         0x1.a6a2bcp-2f,
                                         0x1.1c0522p-1f,
                                         0x1.68eccep-1f,
                                         0x1.b2e29p-1f,
                                         0x1.e25fp-1f};
inline constexpr float kTanhTerms[7][16] = {
    {0x1.f063fp-15f, 0x1.5f292cp-15f, 0x1.5f1392p-19f, 0x1.9f058cp-25f, 0x1.828d7ep-23f, 0, 0, 0, 0,
     -0x1.6c2cdap-5f, 0x1.88cbbcp+1f, 0x1.138cb4p+1f, 0x1.6d9dcep-5f, 0x1.dcfb46p-5f,
     -0x1.32b7b8p-8f, -0x1.07c186p-9f},
    {-0x1.724042p-11f, -0x1.559412p-13f, -0x1.342278p-17f, -0x1.522156p-23f, 0x1.c07cdep-21f, 0, 0,
     0, 0, -0x1.16f5a6p-8f, -0x1.5c3bfp-4f, -0x1.1bc994p-4f, -0x1.89bc8ep-6f, 0x1.a25588p-7f,
     0x1.eada62p-7f, 0x1.037ap-9f},
    {0x1.80918ap-9f, 0x1.0180cep-11f, 0x1.8fcfc2p-16f, 0x1.b18ed2p-22f, 0x1.520064p-20f, 0, 0, 0, 0,
     0x1.12b19ap-3f, 0x1.963ef8p-6f, -0x1.6ef4d8p-6f, -0x1.c76c3cp-5f, -0x1.ec012ap-5f,
     -0x1.3450fp-6f, 0x1.f01502p-9f},
    {-0x1.0ff798p-7f, -0x1.467c48p-10f, -0x1.f43ee4p-15f, -0x1.123f62p-20f, 0x1.f4f27ap-22f, 0, 0,
     0, 0, -0x1.2b214cp-14f, 0x1.43658p-3f, 0x1.5c200ep-3f, 0x1.1a4e7cp-3f, 0x1.ed2fb4p-5f,
     -0x1.a8af1ep-7f, -0x1.7f5754p-6f},
    {0x1.2013p-6f, 0x1.4924dap-9f, 0x1.fa88bp-14f, 0x1.15c514p-19f, -0x1.82af6ap-22f, 0, 0, 0, 0,
     -0x1.555494p-2f, -0x1.c2fe3cp-3f, -0x1.14de42p-3f, -0x1.22706ep-6f, 0x1.5125dap-4f,
     0x1.bacfe4p-4f, 0x1.fe50dp-5f},
    {-0x1.bc77b2p-6f, -0x1.ef9b38p-9f, -0x1.7bf008p-13f, -0x1.a03fbp-19f, -0x1.0dd322p-22f, 0, 0, 0,
     0, -0x1.48d6f2p-25f, -0x1.18d25p-2f, -0x1.5ea42ep-2f, -0x1.893deap-2f, -0x1.6b246p-2f,
     -0x1.e48a82p-3f, -0x1.b1b4bap-4f},
    {0x1.c2b662p-6f, 0x1.f08b68p-9f, 0x1.7bb80ap-13f, 0x1.9ff68p-19f, 0x1.aedf0cp-27f, 0, 0, 0, 0,
     0, 0x1.d1654cp-1f, 0x1.a8c862p-1f, 0x1.62724ep-1f, 0x1.01929p-1f, 0x1.1d3b08p-2f,
     0x1.cc5884p-4f}};

// erf(a) = a + a P(a^2) below kErfSplit, 1 - exp(a Q(a) - a) above, 1 from kErfOne on.
inline constexpr float kErfSplit = 1.0f;
inline constexpr float kErfOne = 4.0f;
inline constexpr float kErf[] = {0x1.4771fep-14f, -0x1.a3515ep-11f, 0x1.53f224p-8f, -0x1.b7f71ap-6f,
                                 0x1.ce2ce6p-4f,  -0x1.81273ep-2f,  0x1.06eba8p-3f};
inline constexpr float kErfTail[] = {-0x1.d471dp-17f, 0x1.6f9b24p-12f, -0x1.ec7e62p-9f,
                                     0x1.896142p-6f,  -0x1.b459acp-4f, -0x1.451abap-1f,
                                     -0x1.0790e6p-3f};

// ndtr(-a) = exp(-a^2 / 2) P(a) / Q(a) for a >= 0, 0 from kNdtrZero on. kExpOfHalf is kExp rescaled
// to powers of 2 r, followed by its two lower-order coefficients.
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

// Norms: the unit of a row whose squares overflow. Its reciprocal is that of a row whose squares
// are all 0.
inline constexpr float kNormUnit = 0x1p-80f;
inline constexpr double kWideNormUnit = 0x1p-550;

}  // namespace limpid::arithmetic::coefficients
