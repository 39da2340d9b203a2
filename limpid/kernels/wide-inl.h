// The elementary functions that are computed in f64 and rounded to f32 once, with the same steps as
// limpid/core/arithmetic.cc. All branches are computed, and the right one is selected. Included
// once for every target.
#include "limpid/core/arithmetic.h"
#include "limpid/kernels/math-inl.h"
#include "limpid/kernels/wasm-inl.h"

#if defined(LIMPID_KERNELS_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_WIDE_INL_H_
#undef LIMPID_KERNELS_WIDE_INL_H_
#else
#define LIMPID_KERNELS_WIDE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

using F64 = hn::ScalableTag<double>;
using U64 = hn::ScalableTag<std::uint64_t>;
using W = hn::Vec<F64>;
using WU = hn::Vec<U64>;

// Number of f64 vectors for the lanes of one f32 vector.
inline constexpr std::size_t kHalves = HWY_TARGET == HWY_SCALAR ? 1 : 2;

HWY_INLINE W wide_set(double x) { return hn::Set(F64(), x); }
HWY_INLINE WU wide_bits(std::uint64_t x) { return hn::Set(U64(), x); }
HWY_INLINE WU bits_of(W x) { return hn::BitCast(U64(), x); }
HWY_INLINE W from_bits(WU x) { return hn::BitCast(F64(), x); }

HWY_INLINE W fma(W a, W b, W c) {
#if HWY_TARGET == HWY_SCALAR
  return W(arithmetic::fused(a.raw, b.raw, c.raw));
#elif HWY_TARGET == HWY_WASM
  return W(wasm_f64x2_relaxed_madd(a.raw, b.raw, c.raw));
#else
  return hn::MulAdd(a, b, c);
#endif
}

// kCount vectors of f64 that go through the same steps together.
template <std::size_t kCount>
struct Wide {
  W v[kCount];

  // Explicit, as a defaulted constructor would lack the attributes of the target.
  HWY_INLINE Wide() {}
  HWY_INLINE Wide(double x) {
    LIMPID_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) v[i] = wide_set(x);
  }
};

template <class F, std::size_t kCount, class... Rest>
HWY_INLINE Wide<kCount> each(const F& f, const Wide<kCount>& a, const Rest&... rest) {
  Wide<kCount> y;
  LIMPID_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) y.v[i] = f(a.v[i], rest.v[i]...);
  return y;
}

#define LIMPID_EACH_1(name, expression)                         \
  template <std::size_t kCount>                                 \
  HWY_INLINE Wide<kCount> name(const Wide<kCount>& many) {      \
    return each([](W a) HWY_ATTR { return expression; }, many); \
  }
#define LIMPID_EACH_2(name, expression)                                              \
  template <std::size_t kCount>                                                      \
  HWY_INLINE Wide<kCount> name(const Wide<kCount>& x, const Same<Wide<kCount>>& y) { \
    return each([](W a, W b) HWY_ATTR { return expression; }, x, y);                 \
  }

LIMPID_EACH_2(operator+, hn::Add(a, b))
LIMPID_EACH_2(operator-, hn::Sub(a, b))
LIMPID_EACH_2(operator*, hn::Mul(a, b))

template <std::size_t kCount>
HWY_INLINE Wide<kCount> fma(const Wide<kCount>& a, const Same<Wide<kCount>>& b,
                            const Same<Wide<kCount>>& c) {
  return each([](W x, W y, W z) HWY_ATTR { return fma(x, y, z); }, a, b, c);
}

template <std::size_t kCount, std::size_t kTerms>
HWY_INLINE Wide<kCount> polynomial(const Wide<kCount>& x, const double (&descending)[kTerms]) {
  Wide<kCount> y(descending[0]);
  LIMPID_UNROLL
  for (std::size_t i = 1; i < kTerms; ++i) y = fma(y, x, descending[i]);
  return y;
}

template <std::size_t kCount>
HWY_INLINE Wide<kCount * kHalves> widen(const Many<kCount>& x) {
  Wide<kCount * kHalves> y;
  LIMPID_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) {
#if HWY_TARGET == HWY_SCALAR
    y.v[i] = W(static_cast<double>(x.v[i].raw));
#else
    const hn::Half<F32> half;
    y.v[2 * i] = hn::PromoteTo(F64(), hn::LowerHalf(half, x.v[i]));
    y.v[2 * i + 1] = hn::PromoteTo(F64(), hn::UpperHalf(half, x.v[i]));
#endif
  }
  return y;
}

// Rounds to nearest, ties to even; overflow gives infinity.
template <std::size_t kWideCount>
HWY_INLINE Many<kWideCount / kHalves> narrow(const Wide<kWideCount>& x) {
  Many<kWideCount / kHalves> y;
  LIMPID_UNROLL
  for (std::size_t i = 0; i < kWideCount / kHalves; ++i) {
#if HWY_TARGET == HWY_SCALAR
    y.v[i] = V(static_cast<float>(x.v[i].raw));
#else
    const hn::Half<F32> half;
    y.v[i] = hn::Combine(F32(), hn::DemoteTo(half, x.v[2 * i + 1]), hn::DemoteTo(half, x.v[2 * i]));
#endif
  }
  return y;
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> copy_sign(const Many<kCount>& x, const Many<kCount>& sign) {
  return each([](V a, V b) HWY_ATTR { return hn::CopySign(a, b); }, x, sign);
}

// 2^n; the low bits of z hold n + 1023.
LIMPID_EACH_1(wide_power, from_bits(hn::ShiftLeft<52>(bits_of(a))))

// x = m 2^e with m in [2/3, 4/3), for a normal x.
HWY_INLINE WU wide_biased(W x) {
  return hn::ShiftRight<52>(hn::Add(bits_of(x), wide_bits(co::kWideOne - co::kWideLogSplit)));
}
LIMPID_EACH_1(wide_whole, hn::Sub(from_bits(hn::Or(wide_biased(a), bits_of(wide_set(0x1p52)))),
                                  wide_set(0x1p52 + 1023.0)))
LIMPID_EACH_1(wide_fraction,
              hn::Sub(from_bits(hn::Add(hn::Sub(bits_of(a), hn::ShiftLeft<52>(wide_biased(a))),
                                        wide_bits(co::kWideOne))),
                      wide_set(1.0)))
template <std::size_t kCount>
HWY_INLINE Wide<kCount> wide_log1p(const Wide<kCount>& f) {
  return fma(polynomial(f, co::kWideLog), f * f, f);
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> log1p(const Many<kCount>& x) {
  const auto w = widen(x);
  const auto one_and_x = w + 1.0;
  const auto e = wide_whole(one_and_x);
  const auto f =
      each([](W whole, W small, W large)
               HWY_ATTR { return hn::IfThenElse(hn::Eq(whole, wide_set(0.0)), small, large); },
           e, w, wide_fraction(one_and_x));
  const auto y = copy_sign(narrow(fma(e, co::kWideLn2, wide_log1p(f))), x);
  // 1 + x is exact if it is 0 or less.
  return each([](V a, V b) HWY_ATTR { return log_or_limit(a, b); }, y, x + 1.0f);
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> expm1(const Many<kCount>& x) {
  const auto w = widen(at_least(at_most(x, co::kExpHighest), co::kExpLowest));
  const auto z = fma(w, co::kWideLog2E, co::kWideExpRound);
  const auto n = z - co::kWideExpRound;
  const auto r = fma(n, -co::kWideLn2, w);
  const auto power = wide_power(z);
  return copy_sign(narrow(fma(power, polynomial(r, co::kWideExp) * r, power - 1.0)), x);
}

// Recomputes the lanes of y for which x is large, infinite or NaN, one by one.
HWY_NOINLINE V replace_large(V x, V y, float (*function)(float)) {
  alignas(64) float in[kLanes], out[kLanes];
  store(x, in);
  store(y, out);
  for (std::size_t i = 0; i < kLanes; ++i)
    if (!(std::fabs(in[i]) < co::kTrigLarge)) out[i] = function(in[i]);
  return load(out);
}
// sin(|x| + quarters * pi / 2) in f64, for |x| < kTrigLarge.
template <std::size_t kCount>
HWY_INLINE Wide<kCount> wide_sin(const Wide<kCount>& a, std::uint64_t quarters) {
  const auto z = fma(a, co::kTwoOverPi, co::kWideRound);
  const auto n = z - co::kWideRound;
  const auto r = fma(n, -co::kHalfPiLow, fma(n, -co::kHalfPiHigh, a));
  const auto s = r * r;
  const auto sine = fma(polynomial(s, co::kWideSin), s * r, r);
  const auto cosine = fma(polynomial(s, co::kWideCos), s, 1.0);
  return each(
      [quarters](W count, W even, W odd) HWY_ATTR {
        const WU q = hn::Add(bits_of(count), wide_bits(quarters));
        const auto is_even = hn::Eq(hn::And(q, wide_bits(1)), hn::Zero(U64()));
        const W y = hn::IfThenElse(hn::RebindMask(F64(), is_even), even, odd);
        return hn::Xor(y, from_bits(hn::ShiftLeft<63>(hn::ShiftRight<1>(q))));
      },
      z, sine, cosine);
}
template <std::size_t kCount>
HWY_INLINE Many<kCount> with_large(const Many<kCount>& x, const Many<kCount>& y,
                                   float (*function)(float)) {
  return each(
      [function](V a, V b) HWY_ATTR {
        if (HWY_LIKELY(hn::AllTrue(F32(), hn::Lt(hn::Abs(a), set(co::kTrigLarge))))) return b;
        return replace_large(a, b, function);
      },
      x, y);
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> sin(const Many<kCount>& x) {
  const auto y = narrow(wide_sin(widen(absolute(x)), 0));
  const auto with_sign =
      each([](V a, V b) HWY_ATTR { return hn::Xor(a, hn::And(b, hn::SignBit(F32()))); }, y, x);
  return with_large(x, with_sign, arithmetic::sin);
}

template <std::size_t kCount>
HWY_INLINE Many<kCount> cos(const Many<kCount>& x) {
  return with_large(x, narrow(wide_sin(widen(absolute(x)), 1)), arithmetic::cos);
}

// log2(x) of f32 values x >= 0, given as f64.
template <std::size_t kCount>
HWY_INLINE Wide<kCount> wide_log2(const Wide<kCount>& x) {
  const auto y = fma(wide_log1p(wide_fraction(x)), co::kWideLog2E, wide_whole(x));
  return each(
      [](W finite, W a) HWY_ATTR {
        const W infinity = hn::Inf(F64());
        const W or_infinite = hn::IfThenElse(hn::Lt(a, infinity), finite, a);
        return hn::IfThenElse(hn::Eq(a, wide_set(0.0)), hn::Neg(infinity), or_infinite);
      },
      y, x);
}

// 2^t; t is first clamped to +-kPowerHighest.
template <std::size_t kCount>
HWY_INLINE Wide<kCount> wide_exp2(const Wide<kCount>& wanted) {
  const auto t = each(
      [](W a) HWY_ATTR {
        const W high = wide_set(co::kPowerHighest), low = wide_set(-co::kPowerHighest);
        const W below = hn::IfThenElse(hn::Lt(high, a), high, a);
        return hn::IfThenElse(hn::Lt(below, low), low, below);
      },
      wanted);
  const auto z = t + co::kWideExpRound;
  const auto d = (t - (z - co::kWideExpRound)) * co::kWideLn2;
  const auto power = wide_power(z);
  return fma(power, polynomial(d, co::kWideExp) * d, power);
}

HWY_INLINE hn::Mask<F32> is_whole(V x) { return hn::Eq(truncate(x), x); }
// The sign and the special values of x^y; otherwise its magnitude is `size`.
HWY_INLINE V power_or_special(V size, V x, V y) {
  const V one = set(1.0f), infinity = hn::Inf(F32());
  const V a = hn::Abs(x);
  const V half = hn::Mul(y, set(0.5f));
  const V odd_sign = hn::IfThenElse(is_whole(half), zero(), hn::And(x, hn::SignBit(F32())));
  const V with_sign = hn::IfThenElse(is_whole(y), hn::Xor(size, odd_sign), size);
  const auto no_number =
      hn::And(hn::And(hn::Lt(x, zero()), hn::Lt(a, infinity)), hn::Not(is_whole(y)));
  const auto is_one = hn::Or(hn::Or(hn::Eq(y, zero()), hn::Eq(x, one)),
                             hn::And(hn::Eq(a, one), hn::Eq(hn::Abs(y), infinity)));
  return hn::IfThenElse(is_one, one, hn::IfThenElse(no_number, hn::NaN(F32()), with_sign));
}

// x^y with the special values of C's pow.
template <std::size_t kCount>
HWY_INLINE Many<kCount> raise(const Many<kCount>& x, const Many<kCount>& y) {
  const auto size = narrow(wide_exp2(widen(y) * wide_log2(widen(absolute(x)))));
  return each([](V s, V a, V b) HWY_ATTR { return power_or_special(s, a, b); }, size, x, y);
}

#undef LIMPID_EACH_1
#undef LIMPID_EACH_2

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
