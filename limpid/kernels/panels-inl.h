// Panels: packed B in panels of kPanel columns, term by term. Included once for every target.
#include "limpid/kernels/kernels.h"
#include "limpid/kernels/matvec-inl.h"

#if defined(LIMPID_KERNELS_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_PANELS_INL_H_
#undef LIMPID_KERNELS_PANELS_INL_H_
#else
#define LIMPID_KERNELS_PANELS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

// A register tile: kTileRows rows by kVectors vectors of one panel; as many accumulators as
// possible with registers left for the operands. On AVX-512, 6 rows by 64 columns reach 115 of 118
// GFLOP/s, and 12 by 32 reach 110: half as many rows of A and C to follow outweighs that a panel no
// longer fits in the L1 cache.
#if HWY_TARGET == HWY_AVX3
constexpr std::size_t kTileRows = 6, kVectors = 4;
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_WASM
constexpr std::size_t kTileRows = 6, kVectors = 2;
#elif HWY_TARGET == HWY_NEON
constexpr std::size_t kTileRows = 6, kVectors = 4;
#else
constexpr std::size_t kTileRows = 2, kVectors = 4;
#endif
constexpr std::size_t kAccumulators = kTileRows * kVectors;
constexpr std::size_t kPanel = kVectors * kLanes;

// The widest tile with this number of rows for the remaining columns. A tile of few rows takes
// several panels at once; otherwise the units would wait for the latency of the sums.
constexpr std::size_t width_of(std::size_t rows, std::size_t columns) {
  const std::size_t vectors = (columns + kLanes - 1) / kLanes;
  if (vectors < kVectors) return vectors;
  std::size_t width = kVectors;
  while (2 * width <= 4 * kVectors && 2 * width <= vectors && rows * 2 * width <= kAccumulators)
    width *= 2;
  return width;
}

HWY_INLINE std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

// Terms [k_begin, k_begin + k) of columns [column, column + width) of B as one panel of `step`
// columns, k <= kBlock; missing columns become zeros. Writes up to kLanes floats beyond the panel.
void pack_panel(const Matrix& b, std::size_t k_begin, std::size_t k, std::size_t column,
                std::size_t width, std::size_t step, float* out) {
  const float* const from = b.data + k_begin * b.row_stride + column * b.col_stride;
  if (b.col_stride == 1) {
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < step; j += kLanes) {
        const float* const p = from + i * b.row_stride + j;
        V v = zero();
        if (j + kLanes <= width)
          v = load(p);
        else if (j < width)
          v = load_n(p, width - j);
        store(v, out + i * step + j);
      }
    return;
  }
  // From the last columns to the first, as each strip also overwrites the first lanes of the next
  // term.
  const float* pointers[kLanes];
  for (std::size_t j = (step - 1) / kLanes * kLanes;; j -= kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i)
      pointers[i] = j + i < width ? from + (j + i) * b.col_stride : kZeros;
    transpose_strip(pointers, k, out + j, step);
    if (j == 0) return;
  }
}

// Floats between terms in the panel that begins at `column`. The last panel is only as wide as its
// columns need: whole vectors, or less if half a vector or more would be padding, so that the
// weights of a single output take no extra cache. Lanes beyond the columns then hold the next terms
// and are ignored.
HWY_INLINE std::size_t panel_step(std::size_t n, std::size_t column) {
  const std::size_t left = n - column;
  return 2 * left <= kLanes ? left : HWY_MIN(kPanel, round_up(left, kLanes));
}

// Includes padding: reads and writes go beyond the last term.
std::size_t packed_floats(std::size_t k, std::size_t n) {
  const std::size_t last = n / kPanel * kPanel;
  return last * k + (last < n ? panel_step(n, last) * k + kLanes : 0);
}

void pack(const Matrix& b, std::size_t k, std::size_t n, Range columns, float* out) {
  for (std::size_t c = columns.begin; c < columns.end; c += kPanel) {
    const std::size_t step = panel_step(n, c);
    for (std::size_t begin = 0; begin < k; begin += kBlock)
      pack_panel(b, begin, HWY_MIN(kBlock, k - begin), c, HWY_MIN(kPanel, n - c), step,
                 out + c * k + begin * step);
  }
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
