// Vectors of 32-bit lanes for the kernels: a thin layer over Highway. It also fuses multiply-adds
// on Highway's scalar target, and never accesses memory outside the requested lanes. Included once
// for every target.
#include "hwy/highway.h"
//
#include "hwy/cache_control.h"
//
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "limpid/core/detail/sanitized.h"
#include "limpid/core/fused.h"

#if defined(LIMPID_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_LANES_INL_H_
#undef LIMPID_KERNELS_LANES_INL_H_
#else
#define LIMPID_KERNELS_LANES_INL_H_
#endif

// Unrolls a loop of constant length, to keep arrays of vectors in registers. Not under a sanitizer:
// an unrolled tile takes minutes to compile there, without finding more.
#undef LIMPID_UNROLL
#if LIMPID_SANITIZED
#define LIMPID_UNROLL
#else
#define LIMPID_UNROLL _Pragma("GCC unroll 32")
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::ScalableTag<std::int32_t>;
using U32 = hn::ScalableTag<std::uint32_t>;
using V = hn::Vec<F32>;
using VI = hn::Vec<I32>;
using VU = hn::Vec<U32>;

inline constexpr std::size_t kLanes = HWY_LANES(float);

HWY_INLINE V set(float x) { return hn::Set(F32(), x); }
HWY_INLINE V zero() { return hn::Zero(F32()); }

#if HWY_TARGET == HWY_SCALAR
// As arithmetic::fused. The product is exact in f64. The sum, rounded to f64 and then to f32, is
// the sum rounded once, unless f64's rounding gave a number in the middle between two floats: a
// normal one ends in these bits.
HWY_INLINE float fused_lane(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return arithmetic::fused(a, b, c);
#else
  const double sum = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c);
  std::uint64_t bits;
  __builtin_memcpy(&bits, &sum, sizeof(bits));
  const bool in_the_middle = (bits & 0x1fffffff) == 0x10000000;
  const bool small = sum < 0x1p-126 && sum > -0x1p-126 && sum != 0;
  return HWY_UNLIKELY(in_the_middle || small) ? arithmetic::fused(a, b, c)
                                              : static_cast<float>(sum);
#endif
}
#endif

// a * b + c with one rounding.
HWY_INLINE V fma(V a, V b, V c) {
#if HWY_TARGET == HWY_SCALAR
  return V(fused_lane(a.raw, b.raw, c.raw));
#elif HWY_TARGET == HWY_WASM
  return V(wasm_f32x4_relaxed_madd(a.raw, b.raw, c.raw));  // isa.cc makes sure that it is fused
#else
  return hn::MulAdd(a, b, c);
#endif
}

// min(x, bound) and max(x, bound); NaN stays NaN. If an operand is NaN, x86 returns the second one;
// other CPUs may return the number or either operand.
HWY_INLINE V at_most(V x, float bound) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Min(set(bound), x);
#else
  return hn::IfThenElse(hn::Lt(set(bound), x), set(bound), x);
#endif
}
HWY_INLINE V at_least(V x, float bound) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(set(bound), x);
#else
  return hn::IfThenElse(hn::Lt(x, set(bound)), set(bound), x);
#endif
}

// Loads or stores one vector of any 4-byte type.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const void* from) {
#if HWY_TARGET == HWY_SCALAR
  hn::TFromD<D> lane;
  __builtin_memcpy(&lane, from, sizeof(lane));
  return hn::Set(d, lane);
#else
  return hn::LoadU(d, static_cast<const hn::TFromD<D>*>(from));
#endif
}
template <class D>
HWY_INLINE void store(hn::Vec<D> v, D d, void* to) {
#if HWY_TARGET == HWY_SCALAR
  const hn::TFromD<D> lane = hn::GetLane(v);
  __builtin_memcpy(to, &lane, sizeof(lane));
  (void)d;
#else
  hn::StoreU(v, d, static_cast<hn::TFromD<D>*>(to));
#endif
}
HWY_INLINE V load(const float* from) { return load(F32(), from); }
HWY_INLINE void store(V v, float* to) { store(v, F32(), to); }

// Copies n < kLanes 4-byte lanes, in powers of two: a loop over lanes is slower.
template <std::size_t kCount = kLanes / 2>
HWY_INLINE void copy_lanes(void* to, const void* from, std::size_t n) {
  if constexpr (kCount > 0) {
    std::size_t done = 0;
    if (n & kCount) {
      __builtin_memcpy(to, from, 4 * kCount);
      done = 4 * kCount;
    }
    copy_lanes<kCount / 2>(static_cast<char*>(to) + done, static_cast<const char*>(from) + done, n);
  }
}

// Loads or stores the first n < kLanes lanes. The others are loaded as zero, or not written.
template <class D>
HWY_INLINE hn::Vec<D> load_n(D d, const void* from, std::size_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, n), d, static_cast<const hn::TFromD<D>*>(from));
#else
  alignas(64) hn::TFromD<D> lanes[kLanes] = {};
  copy_lanes(lanes, from, n);
  return load(d, lanes);
#endif
}
template <class D>
HWY_INLINE void store_n(hn::Vec<D> v, D d, void* to, std::size_t n) {
#if HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, n), d, static_cast<hn::TFromD<D>*>(to));
#else
  // AVX2 has masked stores, too, but on Zen one takes about twenty cycles.
  alignas(64) hn::TFromD<D> lanes[kLanes];
  store(v, d, lanes);
  copy_lanes(to, lanes, n);
#endif
}
HWY_INLINE V load_n(const float* from, std::size_t n) { return load_n(F32(), from, n); }
HWY_INLINE void store_n(V v, float* to, std::size_t n) { store_n(v, F32(), to, n); }

// From this many lanes on, a kernel uses streaming (non-temporal) stores: no cache holds results
// and operands, and a normal store first reads the line from memory. ReLU of 4096 x 4096 takes 0.22
// instead of 0.37 ns per element.
inline constexpr std::size_t kBeyondCaches = std::size_t{4} << 20;

// Stores the `lanes` results of a kernel.
class Results {
 public:
  HWY_INLINE Results(const void* out, std::size_t lanes)
      : streams_(lanes >= kBeyondCaches && reinterpret_cast<std::uintptr_t>(out) % 4 == 0) {}
  // Other threads do not see streaming stores before a flush.
  HWY_INLINE ~Results() {
    if (streams_) hwy::FlushStream();
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  // The number of lanes to store before put() may be called. For many lanes, put() then starts at
  // an aligned vector: ReLU of 256 x 256 takes 0.073 ns per element, and 0.079 if every vector
  // crosses a cache line.
  HWY_INLINE std::size_t lanes_before(const void* out, std::size_t lanes) const {
    if (!streams_ && lanes < 2048) return 0;
    constexpr std::size_t kBytes = kLanes * 4;
    const std::size_t before = (kBytes - reinterpret_cast<std::uintptr_t>(out) % kBytes) % kBytes;
    return HWY_MIN(before / 4, lanes);
  }
  template <class D>
  HWY_INLINE void put(hn::Vec<D> v, D d, void* to) const {
    if (streams_)
      hn::Stream(v, d, static_cast<hn::TFromD<D>*>(to));
    else
      store(v, d, to);
  }

 private:
  bool streams_;
};

// Loads four columns of kLanes rows: y[i] is column `column` + i.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void load_columns(const float* const* rows, std::size_t column, V (&y)[4]) {
  for (std::size_t i = 0; i < 4; ++i) y[i] = load(rows[0] + column + i);
}
#else
// Loads four columns of every fourth row, one row per 128-bit block.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* const* rows, std::size_t column) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, rows[0] + column);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, rows + hn::MaxLanes(half), column),
                       load_blocks(half, rows, column));
  }
}
HWY_INLINE void load_columns(const float* const* rows, std::size_t column, V (&y)[4]) {
  const F32 d;
  const hn::ScalableTag<double> pairs;
  const V r0 = load_blocks(d, rows, column), r1 = load_blocks(d, rows + 1, column);
  const V r2 = load_blocks(d, rows + 2, column), r3 = load_blocks(d, rows + 3, column);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  y[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  y[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  y[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  y[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}
#endif
HWY_INLINE V load_column(const float* const* rows, std::size_t column) {
  alignas(64) float lanes[kLanes];
  for (std::size_t r = 0; r < kLanes; ++r) lanes[r] = rows[r][column];
  return load(lanes);
}

// Transposes kLanes rows: out[c * stride + r] = rows[r][c] for c in [0, columns).
HWY_INLINE void transpose_strip(const float* const* rows, std::size_t columns, float* out,
                                std::size_t stride) {
  std::size_t c = 0;
  for (; c + 4 <= columns; c += 4) {
    V y[4];
    load_columns(rows, c, y);
    for (std::size_t i = 0; i < 4; ++i) store(y[i], out + (c + i) * stride);
  }
  for (; c < columns; ++c)
    for (std::size_t r = 0; r < kLanes; ++r) out[c * stride + r] = rows[r][c];
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
