// The elementary functions on vectors: the same steps as limpid/core/arithmetic.cc, every branch
// computed and the right one selected. Included once for every target.
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

template <std::size_t N>
HWY_INLINE V polynomial(V x, const float (&descending)[N]) {
  V y = set(descending[0]);
  LIMPID_UNROLL
  for (std::size_t i = 1; i < N; ++i) y = fma(y, x, set(descending[i]));
  return y;
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
HWY_INLINE V relu(V x) { return hn::IfThenZeroElse(hn::Le(x, zero()), x); }

// exp(x) = 2^n (1 + p r); the low bits of z hold n + 254.
struct Exponential {
  V z, p, r;
};
HWY_INLINE Exponential reduce(V x, V z, V n, float ln2_high, float ln2_low) {
  const V r = fma(n, set(ln2_low), fma(n, set(ln2_high), x));
  return {z, fma(polynomial(r, co::kExp), r, set(1.0f)), r};
}
HWY_INLINE Exponential exponential(V x) {
  const V z = fma(x, set(co::kLog2E), set(co::kExpRound));
  return reduce(x, z, hn::Sub(z, set(co::kExpRound)), -co::kLn2High, -co::kLn2Low);
}

struct Powers {
  V first, second;
};
HWY_INLINE Powers split_power(V z) {
  const VU bits = hn::BitCast(U32(), z);
  const VU half = hn::ShiftRight<1>(bits);
  return {hn::BitCast(F32(), hn::ShiftLeft<23>(half)),
          hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Sub(bits, half)))};
}

HWY_INLINE V exp(V x) {
  const Exponential e = exponential(at_least(at_most(x, co::kExpHighest), co::kExpLowest));
  const Powers power = split_power(e.z);
  return hn::Mul(hn::Mul(fma(e.p, e.r, set(1.0f)), power.first), power.second);
}

// exp(x) where it is a normal number: scaling by 2^n at once gives the same bits.
HWY_INLINE V exp_normal(V x) {
  const Exponential e = exponential(x);
  const VU exponent = hn::Sub(hn::BitCast(U32(), e.z), hn::Set(U32(), 127u));
  const V power = hn::BitCast(F32(), hn::ShiftLeft<23>(exponent));
  return hn::Mul(fma(e.p, e.r, set(1.0f)), power);
}

HWY_INLINE V log(V x) {
  const auto tiny = hn::Lt(x, set(0x1p-126f));
  const VU bits = hn::BitCast(U32(), hn::IfThenElse(tiny, hn::Mul(x, set(0x1p23f)), x));
  const VU shifted = hn::Sub(bits, hn::Set(U32(), static_cast<std::uint32_t>(co::kLogSplit)));
  const VI e = hn::ShiftRight<23>(hn::BitCast(I32(), shifted));
  const VU scale = hn::ShiftLeft<23>(hn::BitCast(U32(), e));
  const V m = hn::BitCast(F32(), hn::Sub(bits, scale));
  const V f = hn::Sub(m, set(1.0f));
  const V exponent = hn::Sub(hn::ConvertTo(F32(), e), hn::IfThenElseZero(tiny, set(23.0f)));
  const V y = fma(polynomial(f, co::kLog), hn::Mul(f, f), f);
  const V finite = fma(exponent, set(co::kLn2High), y);

  const V infinity = hn::Inf(F32());
  const V or_infinite = hn::IfThenElse(hn::Lt(x, infinity), finite, x);
  const V or_negative = hn::IfThenElse(hn::Lt(x, zero()), hn::NaN(F32()), or_infinite);
  return hn::IfThenElse(hn::Eq(x, zero()), hn::Neg(infinity), or_negative);
}

HWY_INLINE V tanh(V x) {
  const V a = hn::Abs(x);
  const V s = hn::Mul(a, a);
  const V small = fma(polynomial(s, co::kTanh), hn::Mul(s, a), a);
  const V t = at_most(a, co::kTanhOne);
  const V e = exp_normal(hn::Add(t, t));
  const V large = hn::Sub(set(1.0f), hn::Div(set(2.0f), hn::Add(e, set(1.0f))));
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(a, set(co::kTanhSplit)), small, large), x);
}

HWY_INLINE V erf(V x) {
  const V a = hn::Abs(x);
  const V small = fma(polynomial(hn::Mul(a, a), co::kErf), a, a);
  const V t = at_most(a, co::kErfOne);
  const V large = hn::Sub(set(1.0f), exp_normal(fma(polynomial(t, co::kErfTail), t, hn::Neg(t))));
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(a, set(co::kErfSplit)), small, large), x);
}

HWY_INLINE V sigmoid(V x) {
  const V one = set(1.0f);
  const V a = at_most(hn::Abs(x), co::kSigmoidHighest);
  const V z = fma(a, set(-co::kLog2E), set(co::kExpRound));
  const Exponential q = reduce(a, z, hn::Sub(z, set(co::kExpRound)), co::kLn2High, co::kLn2Low);
  const V d = hn::Mul(q.p, q.r);
  const Powers power = split_power(z);
  const V w = hn::Mul(power.first, power.second);
  const V one_w = hn::Add(one, w);
  const V s = hn::Add(one_w, d);
  const V lost = hn::Add(fma(q.p, q.r, hn::Neg(d)), hn::Sub(w, hn::Sub(one_w, one)));
  const V t = hn::Add(hn::Add(hn::Sub(one_w, s), d), lost);
  const V v = hn::Div(one, s);
  const V minus_v = hn::Neg(v);
  const V e = fma(minus_v, t, fma(minus_v, s, one));
  const V y = hn::Mul(hn::Mul(fma(v, e, v), power.first), power.second);
  return hn::IfNegativeThenElse(x, y, hn::Sub(one, y));
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
