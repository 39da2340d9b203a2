// The elementary functions on vectors, with the same steps as limpid/core/arithmetic.cc. All
// branches are computed, and the right one is selected. Included once for every target.
#include <cfloat>

#include "limpid/core/coefficients.h"
#include "limpid/kernels/lanes-inl.h"

#if defined(LIMPID_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_MATH_INL_H_
#undef LIMPID_KERNELS_MATH_INL_H_
#else
#define LIMPID_KERNELS_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

namespace co = arithmetic::coefficients;

// kCount vectors that go through the same steps together, for instruction-level parallelism: the
// steps of a single vector depend on each other.
template <std::size_t kCount>
struct Many {
  V v[kCount];

  // Explicit, as a defaulted constructor would lack the attributes of the target.
  HWY_INLINE Many() {}
  HWY_INLINE Many(float x) {
    LIMPID_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) v[i] = set(x);
  }
  HWY_INLINE explicit Many(V x) {
    LIMPID_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) v[i] = x;
  }
};

// f of every vector.
template <class F, std::size_t kCount, class... Rest>
HWY_INLINE Many<kCount> each(const F& f, const Many<kCount>& a, const Rest&... rest) {
  Many<kCount> y;
  LIMPID_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) y.v[i] = f(a.v[i], rest.v[i]...);
  return y;
}

#define LIMPID_EACH_1(name, expression)                         \
  template <std::size_t kCount>                                 \
  HWY_INLINE Many<kCount> name(const Many<kCount>& many) {      \
    return each([](V a) HWY_ATTR { return expression; }, many); \
  }
#define LIMPID_EACH_2(name, expression)                                              \
  template <std::size_t kCount>                                                      \
  HWY_INLINE Many<kCount> name(const Many<kCount>& x, const Same<Many<kCount>>& y) { \
    return each([](V a, V b) HWY_ATTR { return expression; }, x, y);                 \
  }

// A non-deduced parameter type: kCount comes from the other arguments, so that a float converts.
template <class T>
struct SameAs {
  using Type = T;
};
template <class T>
using Same = typename SameAs<T>::Type;

LIMPID_EACH_2(operator+, hn::Add(a, b))
LIMPID_EACH_2(operator-, hn::Sub(a, b))
LIMPID_EACH_2(operator*, hn::Mul(a, b))
LIMPID_EACH_2(operator/, hn::Div(a, b))
LIMPID_EACH_1(operator-, hn::Neg(a))
LIMPID_EACH_1(absolute, hn::Abs(a))
LIMPID_EACH_2(with_sign_of, hn::CopySignToAbs(a, b))

template <std::size_t kCount>
HWY_INLINE Many<kCount> fma(const Many<kCount>& a, const Same<Many<kCount>>& b,
                            const Same<Many<kCount>>& c) {
  return each([](V x, V y, V z) HWY_ATTR { return fma(x, y, z); }, a, b, c);
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> at_most(const Many<kCount>& x, float bound) {
  return each([bound](V a) HWY_ATTR { return at_most(a, bound); }, x);
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> at_least(const Many<kCount>& x, float bound) {
  return each([bound](V a) HWY_ATTR { return at_least(a, bound); }, x);
}
// The mask of x < bound.
template <std::size_t kCount>
struct Mask {
  hn::Mask<F32> m[kCount];

  HWY_INLINE Mask() {}  // as in Many
};
template <std::size_t kCount>
HWY_INLINE Mask<kCount> less(const Many<kCount>& x, float bound) {
  Mask<kCount> mask;
  LIMPID_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) mask.m[i] = hn::Lt(x.v[i], set(bound));
  return mask;
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> choose(const Mask<kCount>& mask, const Many<kCount>& yes,
                               const Many<kCount>& no) {
  Many<kCount> y;
  LIMPID_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) y.v[i] = hn::IfThenElse(mask.m[i], yes.v[i], no.v[i]);
  return y;
}
// Selects by the sign bit.
template <std::size_t kCount>
HWY_INLINE Many<kCount> by_sign(const Many<kCount>& by, const Many<kCount>& negative,
                                const Many<kCount>& positive) {
  return each([](V s, V n, V p) HWY_ATTR { return hn::IfNegativeThenElse(s, n, p); }, by, negative,
              positive);
}

HWY_INLINE V maximum(V a, V b) {
  const V larger = hn::IfThenElse(hn::Lt(a, b), b, a);
  const V or_zero = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger);
  return hn::IfThenElse(hn::IsNaN(b), b, or_zero);
}
HWY_INLINE V minimum(V a, V b) {
  const V smaller = hn::IfThenElse(hn::Lt(b, a), b, a);
  const V or_zero = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), smaller);
  return hn::IfThenElse(hn::IsNaN(b), b, or_zero);
}
// Rounding to integers. Zeros keep their sign, and small negative numbers become -0, unlike in
// Highway's scalar target.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE V floor(V x) { return V(std::floor(x.raw)); }
HWY_INLINE V ceil(V x) { return V(std::ceil(x.raw)); }
HWY_INLINE V round(V x) { return V(std::nearbyint(x.raw)); }
HWY_INLINE V truncate(V x) { return V(std::trunc(x.raw)); }
#else
HWY_INLINE V floor(V x) { return hn::Floor(x); }
HWY_INLINE V ceil(V x) { return hn::Ceil(x); }
HWY_INLINE V round(V x) { return hn::Round(x); }
HWY_INLINE V truncate(V x) { return hn::Trunc(x); }
#endif
HWY_INLINE V sign(V x) {
  return hn::IfThenElse(hn::Lt(zero(), hn::Abs(x)), hn::CopySign(set(1.0f), x), x);
}
HWY_INLINE V relu(V x) { return hn::IfThenZeroElse(hn::Le(x, zero()), x); }

template <std::size_t kCount, std::size_t kTerms>
HWY_INLINE Many<kCount> polynomial(const Many<kCount>& x, const float (&descending)[kTerms]) {
  Many<kCount> y(descending[0]);
  LIMPID_UNROLL
  for (std::size_t i = 1; i < kTerms; ++i) y = fma(y, x, descending[i]);
  return y;
}

// y 2^n, where z = kExpRound + n. In two factors, so that n can have any value that a result needs,
// including subnormal results. AVX-512 has an instruction that rounds the same product once.
#if HWY_TARGET == HWY_AVX3
LIMPID_EACH_2(scaled, V{_mm512_scalef_ps(a.raw, hn::Sub(b, set(co::kExpRound)).raw)})
#else
// The low bits of z hold n + 254.
HWY_INLINE VU half_exponent(V z) { return hn::ShiftRight<1>(hn::BitCast(U32(), z)); }
LIMPID_EACH_1(first_power, hn::BitCast(F32(), hn::ShiftLeft<23>(half_exponent(a))))
LIMPID_EACH_1(second_power, hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Sub(hn::BitCast(U32(), a),
                                                                         half_exponent(a)))))
template <std::size_t kCount>
HWY_INLINE Many<kCount> scaled(const Many<kCount>& y, const Many<kCount>& z) {
  return y * first_power(z) * second_power(z);
}
#endif
// 2^n if that is a normal number: a single factor then gives the same bits.
LIMPID_EACH_1(power, hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Sub(hn::BitCast(U32(), a),
                                                                  hn::Set(U32(), 127u)))))

// x = n ln 2 + r with z = fma(x, log2(e), round); n is z - round.
template <std::size_t kCount>
HWY_INLINE Many<kCount> remainder(const Many<kCount>& x, const Many<kCount>& n) {
  return fma(n, -co::kLn2Low, fma(n, -co::kLn2High, x));
}
// exp(r) for |r| <= ln(2) / 2.
template <std::size_t kCount>
HWY_INLINE Many<kCount> significand(const Many<kCount>& r) {
  return fma(fma(polynomial(r, co::kExp), r, 1.0f), r, 1.0f);
}

// exp(x) 2^k, where `round` is kExpRound + k.
template <std::size_t kCount>
HWY_INLINE Many<kCount> exp_scaled(const Many<kCount>& x, float round) {
  const auto bounded = at_least(at_most(x, co::kExpHighest), co::kExpLowest);
  const auto z = fma(bounded, co::kLog2E, round);
  return scaled(significand(remainder(bounded, z - round)), z);
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> exp(const Many<kCount>& x) {
  return exp_scaled(x, co::kExpRound);
}

// x = m 2^e with m in [2/3, 4/3); a subnormal x is first scaled to a normal number.
HWY_INLINE VU normal_bits(V x) {
  const V scaled = hn::IfThenElse(hn::Lt(x, set(0x1p-126f)), hn::Mul(x, set(0x1p23f)), x);
  return hn::BitCast(U32(), scaled);
}
HWY_INLINE VI log_exponent(VU bits) {
  const VU split = hn::Set(U32(), static_cast<std::uint32_t>(co::kLogSplit));
  return hn::ShiftRight<23>(hn::BitCast(I32(), hn::Sub(bits, split)));
}
HWY_INLINE V log_fraction(V x) {
  const VU bits = normal_bits(x);
  const VU scale = hn::ShiftLeft<23>(hn::BitCast(U32(), log_exponent(bits)));
  return hn::Sub(hn::BitCast(F32(), hn::Sub(bits, scale)), set(1.0f));
}
HWY_INLINE V log_whole(V x) {
  const V scaled_by = hn::IfThenElseZero(hn::Lt(x, set(0x1p-126f)), set(23.0f));
  return hn::Sub(hn::ConvertTo(F32(), log_exponent(normal_bits(x))), scaled_by);
}
// Selects the logarithms that are not finite.
HWY_INLINE V log_or_limit(V finite, V x) {
  const V infinity = hn::Inf(F32());
  const V or_infinite = hn::IfThenElse(hn::Lt(x, infinity), finite, x);
  const V or_negative = hn::IfThenElse(hn::Lt(x, zero()), hn::NaN(F32()), or_infinite);
  return hn::IfThenElse(hn::Eq(x, zero()), hn::Neg(infinity), or_negative);
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> log(const Many<kCount>& x) {
  const auto f = each([](V a) HWY_ATTR { return log_fraction(a); }, x);
  const auto e = each([](V a) HWY_ATTR { return log_whole(a); }, x);
  const auto y = fma(e, co::kLn2High, fma(polynomial(f, co::kLog), f * f, f));
  return each([](V a, V b) HWY_ATTR { return log_or_limit(a, b); }, y, x);
}

// The entry of a table at the index in the low four bits of each lane.
HWY_INLINE V entry(const float (&table)[16], VU index) {
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_permutexvar_ps(index.raw, load(table).raw)};
#elif HWY_TARGET == HWY_AVX2
  const V low{_mm256_permutevar8x32_ps(load(table).raw, index.raw)};
  const V high{_mm256_permutevar8x32_ps(load(table + kLanes).raw, index.raw)};
  return hn::IfNegativeThenElse(hn::BitCast(F32(), hn::ShiftLeft<28>(index)), high, low);
#elif HWY_TARGET == HWY_NEON
  const VU first_byte = hn::And(hn::ShiftLeft<2>(index), hn::Set(U32(), 60u));
  const VU bytes =
      hn::Add(hn::Mul(first_byte, hn::Set(U32(), 0x01010101u)), hn::Set(U32(), 0x03020100u));
  const uint8x16x4_t all = vld1q_u8_x4(reinterpret_cast<const std::uint8_t*>(table));
  return V(vreinterpretq_f32_u8(vqtbl4q_u8(all, vreinterpretq_u8_u32(bytes.raw))));
#elif HWY_TARGET == HWY_WASM
  // A byte at an index beyond 15 is 0.
  const v128_t first_byte = wasm_i32x4_shl(wasm_v128_and(index.raw, wasm_i32x4_splat(15)), 2);
  const v128_t bytes = wasm_i32x4_add(wasm_i32x4_mul(first_byte, wasm_i32x4_splat(0x01010101)),
                                      wasm_i32x4_splat(0x03020100));
  v128_t found = wasm_i32x4_splat(0);
  LIMPID_UNROLL
  for (int i = 0; i < 4; ++i) {
    const v128_t within = wasm_i8x16_sub(bytes, wasm_i8x16_splat(static_cast<signed char>(16 * i)));
    found = wasm_v128_or(found, wasm_i8x16_swizzle(wasm_v128_load(table + 4 * i), within));
  }
  return V(found);
#else
  return V(table[index.raw % 16]);
#endif
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> entries(const float (&table)[16], const Many<kCount>& index) {
  return each([&table](V i) HWY_ATTR { return entry(table, hn::BitCast(U32(), i)); }, index);
}

// The index of the piece of tanh, in the low four bits.
LIMPID_EACH_1(tanh_piece,
              hn::BitCast(F32(), hn::Max(hn::ShiftRight<co::kTanhShift>(hn::BitCast(U32(), a)),
                                         hn::Set(U32(), co::kTanhFirst))))
template <std::size_t kCount, std::size_t kTerms>
HWY_INLINE Many<kCount> polynomial(const Many<kCount>& x, const Many<kCount>& piece,
                                   const float (&descending)[kTerms][16]) {
  Many<kCount> y = entries(descending[0], piece);
  LIMPID_UNROLL
  for (std::size_t i = 1; i < kTerms; ++i) y = fma(y, x, entries(descending[i], piece));
  return y;
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> tanh(const Many<kCount>& x) {
  const auto a = at_most(absolute(x), co::kTanhOne);
  const auto piece = tanh_piece(a);
  const auto value = choose(less(a, co::kTanhSplit), a, entries(co::kTanhValue, piece));
  const auto d = a - entries(co::kTanhCenter, piece);
  return with_sign_of(fma(polynomial(d, piece, co::kTanhTerms), d, value), x);
}

// Both branches of erf share one Horner evaluation, with the coefficients of the branch of each
// lane.
template <std::size_t kCount, std::size_t kTerms>
HWY_INLINE Many<kCount> polynomial(const Many<kCount>& x, const Mask<kCount>& mask,
                                   const float (&yes)[kTerms], const float (&no)[kTerms]) {
  const auto coefficient = [&](std::size_t i) HWY_ATTR {
    return choose(mask, Many<kCount>(yes[i]), Many<kCount>(no[i]));
  };
  Many<kCount> y = coefficient(0);
  LIMPID_UNROLL
  for (std::size_t i = 1; i < kTerms; ++i) y = fma(y, x, coefficient(i));
  return y;
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> erf(const Many<kCount>& x) {
  const auto a = at_most(absolute(x), co::kErfOne);
  const auto near = less(a, co::kErfSplit);
  const auto p = polynomial(choose(near, a * a, a), near, co::kErf, co::kErfTail);
  const auto t = fma(p, a, -a);
  const auto z = fma(t, co::kLog2E, co::kExpRound);
  const auto e = significand(remainder(t, z - co::kExpRound)) * power(z);
  return with_sign_of(choose(near, fma(p, a, a), Many<kCount>(1.0f) - e), x);
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> sigmoid(const Many<kCount>& x) {
  const Many<kCount> scale(co::kSigmoidScale);
  return scale / (scale + exp_scaled(-x, co::kSigmoidRound));
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> ndtr(const Many<kCount>& x) {
  const auto a = at_most(absolute(x), co::kNdtrZero);
  const auto s = a * a;
  const auto low = fma(a, a, -s);
  const auto z = fma(s, -0.5f * co::kLog2E, co::kExpRound);
  const auto n = z - co::kExpRound;
  const auto r = fma(n, -2 * co::kLn2Low, fma(n, -2 * co::kLn2High, -s)) - low;
  const auto y = polynomial(r, co::kExpOfHalf) * polynomial(a, co::kNdtrNumerator) /
                 polynomial(a, co::kNdtrDenominator);
  const auto tail = scaled(y, z);
  return by_sign(x, tail, Many<kCount>(1.0f) - tail);
}

// The activations, with the same operations as the bodies in limpid/ops/activation.cc.
template <std::size_t kCount>
HWY_INLINE Many<kCount> least_finite(const Many<kCount>& x) {
  return at_least(x, -FLT_MAX);
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> gelu(const Many<kCount>& x) {
  return least_finite(x) * ndtr(x);
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> silu(const Many<kCount>& x) {
  return least_finite(x) / (exp(-x) + 1.0f);
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> gelu_tanh(const Many<kCount>& x) {
  const auto cubic = x * x * x * Many<kCount>(static_cast<float>(co::kGeluCubic));
  const auto twice_u = (x + cubic) * Many<kCount>(static_cast<float>(co::kTwiceRootTwoOverPi));
  return least_finite(x) / (exp(-twice_u) + 1.0f);
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> gelu_gradient(const Many<kCount>& x, const Many<kCount>& g) {
  const Many<kCount> minus_half(-0.5f), factor(static_cast<float>(co::kOneOverRootTwoPi));
  const auto near = at_least(at_most(x, 1000.0f), -1000.0f);
  return g * (ndtr(x) + near * (exp(near * near * minus_half) * factor));
}

// For a single vector.
HWY_INLINE V exp(V x) { return exp(Many<1>(x)).v[0]; }

#undef LIMPID_EACH_1
#undef LIMPID_EACH_2

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
