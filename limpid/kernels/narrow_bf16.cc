// Products with weights of bf16: each weight is widened exactly before the multiply-add, and sums
// are those of f32 (docs/arithmetic.md, "Narrow weights").
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/narrow_bf16.cc"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/core/arithmetic.h"
#include "limpid/kernels/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {
namespace {

using arithmetic::kBlock;

// A panel stores each term as 32-bit words: word j holds column j of one vector in its lower half
// and column j of the next vector in its upper half. A shift widens the first, a mask the second.
constexpr std::size_t kWords = kPanel / 2;

std::size_t packed_bytes(std::size_t k, std::size_t n) {
  return round_up(n, kPanel) * k * sizeof(std::uint16_t);
}

void pack(const void* b, std::size_t row_stride, std::size_t col_stride, std::size_t k,
          std::size_t n, void* out) {
  const auto* const from = static_cast<const std::uint16_t*>(b);
  auto* to = static_cast<std::uint16_t*>(out);
  for (std::size_t panel = 0; panel < n; panel += kPanel)
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < kPanel; ++j) {
        const std::size_t pair = j / (2 * kLanes), lane = j % (2 * kLanes) / 2, vector = j % 2;
        const std::size_t c = panel + (2 * pair + vector) * kLanes + lane;
        *to++ = c < n ? from[i * row_stride + c * col_stride] : std::uint16_t{0};
      }
}

struct Format {
  struct Work {
    const NarrowMatmul& m;
    bool far;
  };

  // Adds `count` terms.
  template <bool kFar, std::size_t kRows, std::size_t kWide>
  static HWY_INLINE void add_terms(const float* a, std::size_t a_stride, const std::uint32_t* b,
                                   std::size_t panel, std::size_t count, V (&sum)[kRows][kWide]) {
    for (std::size_t i = 0; i < count; ++i, b += kWords) {
      V terms[kWide];
      LIMPID_UNROLL
      for (std::size_t w = 0; w < kWide; w += 2) {
        const std::uint32_t* const at = b + w / kVectors * panel + w % kVectors / 2 * kLanes;
        if constexpr (kFar) __builtin_prefetch(at + kBytesAhead / sizeof(*at));
        const VU words = load(U32(), at);
        terms[w] = hn::BitCast(F32(), hn::ShiftLeft<16>(words));
        terms[w + 1] = hn::BitCast(F32(), hn::And(words, hn::Set(U32(), 0xffff0000u)));
      }
      LIMPID_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        const V x = set(a[r * a_stride + i]);
        LIMPID_UNROLL
        for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = fma(x, terms[w], sum[r][w]);
      }
    }
  }

  template <std::size_t kRows, std::size_t kPanels>
  static void tile(const Work& work, std::size_t row, std::size_t column) {
    constexpr std::size_t kWide = kPanels * kVectors, kWidth = kWide * kLanes;
    const NarrowMatmul& m = work.m;
    const std::size_t panel = m.k * kWords;
    const auto* b = static_cast<const std::uint32_t*>(m.packed_b) + column / kPanel * panel;
    const float* const a = m.a + row * m.a_row_stride;
    alignas(64) float totals[kRows * kWidth];
    std::size_t begin = 0;
    do {
      const std::size_t end = HWY_MIN(begin + kBlock, m.k);
      V sum[kRows][kWide];
      LIMPID_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        LIMPID_UNROLL
        for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = zero();
      }
      if (work.far)
        add_terms<true>(a + begin, m.a_row_stride, b, panel, end - begin, sum);
      else
        add_terms<false>(a + begin, m.a_row_stride, b, panel, end - begin, sum);
      b += (end - begin) * kWords;
      LIMPID_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        LIMPID_UNROLL
        for (std::size_t w = 0; w < kWide; ++w) {
          float* const total = totals + r * kWidth + w * kLanes;
          store(hn::Add(begin == 0 ? zero() : load(total), sum[r][w]), total);
        }
      }
      begin = end;
    } while (begin < m.k);
    finish_tile(m, row, kRows, column, kWidth,
                [&](std::size_t r, std::size_t j, const auto&)
                    HWY_ATTR { return load(totals + r * kWidth + j); });
  }
};

std::size_t scratch_bytes(std::size_t, std::size_t) { return 0; }

void matmul(const NarrowMatmul& m, Range rows, Range columns, void*) {
  if (rows.begin < rows.end && columns.begin < columns.end)
    // From a cache, two tiles of two panels are faster by 5 %.
    run_tiles<Format>({m, are_far(m, packed_bytes(m.k, m.n))}, rows, columns, m.from_memory);
}

}  // namespace

void fill_bf16(Kernels& table) { table.bf16 = {kPanel, packed_bytes, pack, scratch_bytes, matmul}; }

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_bf16(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_bf16(table)) }

}  // namespace limpid::kernels
#endif
