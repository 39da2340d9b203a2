// Vectors of f64 for WebAssembly, which Highway 1.0 lacks there: what wide-inl.h asks for. Included
// once for every target; empty for all others.
#include "hwy/highway.h"

#if defined(LIMPID_KERNELS_WASM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_WASM_INL_H_
#undef LIMPID_KERNELS_WASM_INL_H_
#else
#define LIMPID_KERNELS_WASM_INL_H_
#endif

#if HWY_TARGET == HWY_WASM && HWY_MAJOR == 1 && HWY_MINOR == 0
HWY_BEFORE_NAMESPACE();
namespace hwy::HWY_NAMESPACE {

using Doubles = Vec128<double, 2>;

HWY_API Doubles Set(Simd<double, 2, 0>, double x) { return Doubles{wasm_f64x2_splat(x)}; }
HWY_API Doubles operator+(Doubles a, Doubles b) { return Doubles{wasm_f64x2_add(a.raw, b.raw)}; }
HWY_API Doubles operator-(Doubles a, Doubles b) { return Doubles{wasm_f64x2_sub(a.raw, b.raw)}; }
HWY_API Doubles operator*(Doubles a, Doubles b) { return Doubles{wasm_f64x2_mul(a.raw, b.raw)}; }
HWY_API Doubles Neg(Doubles a) { return Doubles{wasm_f64x2_neg(a.raw)}; }
HWY_API Mask128<double, 2> operator==(Doubles a, Doubles b) {
  return Mask128<double, 2>{wasm_f64x2_eq(a.raw, b.raw)};
}
HWY_API Mask128<double, 2> operator<(Doubles a, Doubles b) {
  return Mask128<double, 2>{wasm_f64x2_lt(a.raw, b.raw)};
}
HWY_API Doubles PromoteTo(Simd<double, 2, 0>, Vec128<float, 2> x) {
  return Doubles{wasm_f64x2_promote_low_f32x4(x.raw)};
}
HWY_API Vec128<float, 2> DemoteTo(Simd<float, 2, 0>, Doubles x) {
  return Vec128<float, 2>{wasm_f32x4_demote_f64x2_zero(x.raw)};
}

}  // namespace hwy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
