// Products with i8 weights: each f32 row is quantised to i8 by a scale of its own, sums of products
// are exact in i32, and the scales convert them back to f32 (docs/arithmetic.md, "Narrow weights").
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/narrow_i8.cc"
#include <type_traits>

#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {
namespace {

// What one step of a sum is made of. Weights are packed by groups of kGroup terms, each group
// column after column; codes are those of a row, kGroup to a step. A CPU's byte products decide:
//   AVX-512  four terms by VNNI, unsigned by signed: codes are kept 128 higher, and what that adds
//            to a sum is known beforehand (kOffset)
//   AVX2     two terms, widened to i16
//   others   one term
#if HWY_TARGET == HWY_AVX3
constexpr std::size_t kGroup = 4;
constexpr std::int32_t kOffset = 128;
using Code = std::uint8_t;
#else
constexpr std::size_t kGroup = HWY_TARGET == HWY_AVX2 ? 2 : 1;
constexpr std::int32_t kOffset = 0;
using Code = std::int16_t;
#endif

// Of weights: one group for a vector of columns. Of codes: one group of a row, repeated for every
// column.
#if HWY_TARGET == HWY_AVX3
using Terms = VI;
HWY_INLINE Terms load_weights(const std::int8_t* from) { return load(I32(), from); }
HWY_INLINE Terms load_codes(const Code* from) {
  std::int32_t four;
  __builtin_memcpy(&four, from, sizeof(four));
  return hn::Set(I32(), four);
}
HWY_INLINE VI add_products(Terms codes, Terms weights, VI sum) {
  // No target of Highway that Zen 4 runs has the intrinsic.
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(codes.raw), "v"(weights.raw));
  return sum;
}
#elif HWY_TARGET == HWY_AVX2
using I16 = hn::Repartition<std::int16_t, I32>;
using Terms = hn::Vec<I16>;
HWY_INLINE Terms load_weights(const std::int8_t* from) {
  return hn::PromoteTo(I16(), hn::LoadU(hn::Rebind<std::int8_t, I16>(), from));
}
HWY_INLINE Terms load_codes(const Code* from) {
  std::int32_t two;
  __builtin_memcpy(&two, from, sizeof(two));
  return hn::BitCast(I16(), hn::Set(I32(), two));
}
HWY_INLINE VI add_products(Terms codes, Terms weights, VI sum) {
  // On x86, a lane of the sum adds the two products at its own position.
  VI unused = hn::Zero(I32());
  return hn::ReorderWidenMulAccumulate(I32(), codes, weights, sum, unused);
}
#else
using Terms = VI;
HWY_INLINE Terms load_weights(const std::int8_t* from) {
  return hn::PromoteTo(I32(), load(hn::Rebind<std::int8_t, I32>(), from));
}
HWY_INLINE Terms load_codes(const Code* from) { return hn::Set(I32(), *from); }
HWY_INLINE VI add_products(Terms codes, Terms weights, VI sum) {
  return hn::Add(sum, hn::Mul(codes, weights));
}
#endif

// ---- packing: panel after panel, and after the last one kOffset times the sum of each column

std::size_t panel_bytes(std::size_t k) { return round_up(k, kGroup) * kPanel; }
std::size_t weight_bytes(std::size_t k, std::size_t n) {
  return round_up(n, kPanel) / kPanel * panel_bytes(k);
}
std::size_t packed_bytes(std::size_t k, std::size_t n) {
  const std::size_t sums = kOffset != 0 ? round_up(n, kPanel) * sizeof(std::int32_t) : 0;
  return weight_bytes(k, n) + sums;
}

void pack(const void* b, std::size_t row_stride, std::size_t col_stride, std::size_t k,
          std::size_t n, void* out) {
  const auto* const from = static_cast<const std::int8_t*>(b);
  auto* to = static_cast<std::int8_t*>(out);
  auto* const sums = static_cast<std::int8_t*>(out) + weight_bytes(k, n);
  for (std::size_t panel = 0; panel < n; panel += kPanel) {
    std::int32_t sum[kPanel] = {};
    for (std::size_t i = 0; i < k; i += kGroup)
      for (std::size_t j = 0; j < kPanel; ++j)
        for (std::size_t g = i; g < i + kGroup; ++g) {
          const std::size_t c = panel + j;
          *to = c < n && g < k ? from[g * row_stride + c * col_stride] : std::int8_t{0};
          sum[j] += kOffset * *to++;
        }
    if (kOffset != 0) __builtin_memcpy(sums + panel * sizeof(*sum), sum, sizeof(sum));
  }
}

// ---- codes of rows

// Rows quantised together before they are multiplied; few enough for the second-level cache.
constexpr std::size_t kRowBlock = 48;

// A whole number of vectors: the last one may hold zeros.
std::size_t code_stride(std::size_t k) { return round_up(round_up(k, kGroup), 64); }

// Largest |x| of k elements, or NaN if there is one: compared as bits, NaNs are above all numbers.
HWY_INLINE float largest_magnitude(const float* x, std::size_t k) {
  VI most = hn::Zero(I32());
  const auto magnitude = [](V v) HWY_ATTR { return hn::BitCast(I32(), hn::Abs(v)); };
  std::size_t i = 0;
  for (; i + kLanes <= k; i += kLanes) most = hn::Max(most, magnitude(load(x + i)));
  if (i < k) most = hn::Max(most, magnitude(load_n(x + i, k - i)));
  return hn::GetLane(hn::BitCast(F32(), hn::MaxOfLanes(I32(), most)));
}

// codes[i] = encode(x[i]). encode returns a vector of floats whose low bits are the codes.
template <class Encode>
HWY_INLINE void encode_with(const float* x, std::size_t k, Code* codes, const Encode& encode) {
  const hn::Rebind<std::make_unsigned_t<Code>, U32> bits;
  const hn::Rebind<Code, U32> d;
  const auto write = [&](V v, Code* to) HWY_ATTR {
    hn::StoreU(hn::BitCast(d, hn::TruncateTo(bits, hn::BitCast(U32(), encode(v)))), d, to);
  };
  std::size_t i = 0;
  for (; i + kLanes <= k; i += kLanes) write(load(x + i), codes + i);
  if (i < k) write(load_n(x + i, k - i), codes + i);
}

// Codes of a row (+ kOffset); returns its scale.
HWY_INLINE float encode_row(const float* x, std::size_t k, Code* codes) {
  // A float of this size has no fraction bits: adding it rounds to the nearest integer, ties to
  // even, and the low bits of the sum are that integer.
  const V integers = set(0x1.8p23f + kOffset);
  const float largest = largest_magnitude(x, k);
  const V factor = set(127.0f / largest);
  // Below the lower bound, 127 / largest is infinite. Between the bounds, no code exceeds 127 and
  // none comes from a NaN.
  if (largest > 0x1p-120f && largest <= 0x1.fffffep127f)
    encode_with(x, k, codes, [&](V v) HWY_ATTR { return hn::Add(hn::Mul(v, factor), integers); });
  else
    encode_with(x, k, codes, [&](V v) HWY_ATTR {
      const V within = at_most(at_least(hn::Mul(v, factor), -127.0f), 127.0f);
      return hn::Add(hn::IfThenElseZero(hn::Eq(within, within), within), integers);
    });
  return largest / 127.0f;
}

// ---- products

struct Format {
  struct Work {
    const NarrowMatmul& m;
    std::size_t first_row;  // that of the first codes
    const Code* codes;
    const float* scales;  // of rows
    bool far;
  };

  template <bool kFar, std::size_t kRows, std::size_t kWide>
  static HWY_INLINE void add_terms(const Code* codes, std::size_t stride, const std::int8_t* b,
                                   std::size_t panel, std::size_t k, VI (&sum)[kRows][kWide]) {
    for (std::size_t i = 0; i < k; i += kGroup, b += kGroup * kPanel) {
      Terms weights[kWide];
      LIMPID_UNROLL
      for (std::size_t w = 0; w < kWide; ++w) {
        const std::int8_t* const at = b + w / kVectors * panel + w % kVectors * kLanes * kGroup;
        if constexpr (kFar) __builtin_prefetch(at + kBytesAhead);
        weights[w] = load_weights(at);
      }
      LIMPID_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        const Terms x = load_codes(codes + r * stride + i);
        LIMPID_UNROLL
        for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = add_products(x, weights[w], sum[r][w]);
      }
    }
  }

  template <std::size_t kRows, std::size_t kPanels>
  static void tile(const Work& work, std::size_t row, std::size_t column) {
    constexpr std::size_t kWide = kPanels * kVectors, kWidth = kWide * kLanes;
    const NarrowMatmul& m = work.m;
    const std::size_t panel = panel_bytes(m.k), stride = code_stride(m.k);
    const auto* b = static_cast<const std::int8_t*>(m.packed_b) + column / kPanel * panel;
    const Code* const codes = work.codes + (row - work.first_row) * stride;
    VI sum[kRows][kWide];
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      LIMPID_UNROLL
      for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = hn::Zero(I32());
    }
    if (work.far)
      add_terms<true>(codes, stride, b, panel, m.k, sum);
    else
      add_terms<false>(codes, stride, b, panel, m.k, sum);
    alignas(64) std::int32_t sums[kRows * kWidth];
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      LIMPID_UNROLL
      for (std::size_t w = 0; w < kWide; ++w)
        store(sum[r][w], I32(), sums + r * kWidth + w * kLanes);
    }
    const auto* const offsets = reinterpret_cast<const std::int32_t*>(
        static_cast<const std::int8_t*>(m.packed_b) + weight_bytes(m.k, m.n));
    const float* const scales = work.scales + (row - work.first_row);
    finish_tile(m, row, kRows, column, kWidth,
                [&](std::size_t r, std::size_t j, const auto& of_columns) HWY_ATTR {
                  VI y = load(I32(), sums + r * kWidth + j);
                  if (kOffset != 0) y = hn::Sub(y, load(I32(), offsets + column + j));
                  const V scale = hn::Mul(set(scales[r]), of_columns(m.scale));
                  return hn::Mul(hn::ConvertTo(F32(), y), scale);
                });
  }
};

std::size_t scratch_bytes(std::size_t m, std::size_t k) {
  return HWY_MIN(m, kRowBlock) * code_stride(k) * sizeof(Code);
}

void matmul(const NarrowMatmul& m, Range rows, Range columns, void* scratch) {
  if (columns.begin >= columns.end) return;
  auto* const codes = static_cast<Code*>(scratch);
  float scales[kRowBlock];
  const bool far = are_far(m, weight_bytes(m.k, m.n));
  for (std::size_t r = rows.begin; r < rows.end; r += kRowBlock) {
    const Range some = {r, HWY_MIN(r + kRowBlock, rows.end)};
    for (std::size_t i = some.begin; i < some.end; ++i)
      scales[i - r] = encode_row(m.a + i * m.a_row_stride, m.k, codes + (i - r) * code_stride(m.k));
    run_tiles<Format>({m, r, codes, scales, far}, some, columns, true);
  }
}

}  // namespace

void fill_i8(Kernels& table) { table.i8 = {kPanel, packed_bytes, pack, scratch_bytes, matmul}; }

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_i8(Kernels& table) {
#if HWY_TARGETS & HWY_AVX3
  // The first CPUs with AVX-512 have no VNNI.
  if (table.isa == Isa::kAvx512 && !__builtin_cpu_supports("avx512vnni"))
    return N_AVX2::fill_i8(table);
#endif
  LIMPID_RETURN_FOR_ISA(table.isa, fill_i8(table))
}

}  // namespace limpid::kernels
#endif
