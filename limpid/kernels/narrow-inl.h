// Shared by the products with bf16 and i8 weights: the tiles of a result, and how to finish a tile.
// Each tile runs over all terms at once, as a panel of such weights is small. Included once for
// every target.
#include "limpid/kernels/cache_sizes.h"
#include "limpid/kernels/math-inl.h"

#if defined(LIMPID_KERNELS_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_NARROW_INL_H_
#undef LIMPID_KERNELS_NARROW_INL_H_
#else
#define LIMPID_KERNELS_NARROW_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

// Vectors per panel and rows per tile: as many accumulators as possible with registers left for the
// operands. A product of at most kMostRows rows may be one tile of one panel, which reads the
// weights once. Two tiles of half the rows would read them twice.
#if HWY_TARGET == HWY_AVX3
// With two panels, a tile loads six elements of x for four vectors; with one panel, twelve for two.
constexpr std::size_t kTileRows = 6, kMostRows = 8, kVectors = 2, kAccumulators = 24;
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_WASM
constexpr std::size_t kTileRows = 6, kMostRows = 6, kVectors = 2, kAccumulators = 12;
#elif HWY_TARGET == HWY_NEON
constexpr std::size_t kTileRows = 6, kMostRows = 6, kVectors = 4, kAccumulators = 24;
#else
constexpr std::size_t kTileRows = 2, kMostRows = 2, kVectors = 4, kAccumulators = 8;
#endif
constexpr std::size_t kPanel = kVectors * kLanes;

HWY_INLINE std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

// How far ahead of its use a panel is fetched where no cache holds the weights: what Intel's CPUs
// fetch by themselves leaves a fifth of the memory's bandwidth unused.
constexpr std::size_t kBytesAhead = 3072;

// Whether the second-level cache does not hold the weights: no cache holds the whole model, or this
// product alone needs more than half of that cache. Prefetching weights that are in the cache costs
// time: one row of 784-256-128-10 in bf16 takes 5.8 us instead of 5.0.
HWY_INLINE bool are_far(const NarrowMatmul& m, std::size_t bytes) {
  return m.from_memory || bytes > second_level_cache_bytes() / 2;
}

// Panels (1, 2 or 4) per tile with this number of rows: with too few accumulators, the units would
// wait for the latency of the sums.
constexpr std::size_t panels_at_once(std::size_t rows, std::size_t most = 4) {
  while (most > 1 && rows * kVectors * most > kAccumulators) most /= 2;
  return most;
}

// The tiles of a format, Format::tile<kRows, kPanels>(work, row, column), for 1, 2 and 4 panels.
template <class Format>
struct Tiles {
  using Tile = void (*)(const typename Format::Work&, std::size_t row, std::size_t column);
  Tile of[kMostRows + 1][3];
};
template <class Format, std::size_t kRows = kMostRows>
constexpr void add_tiles(Tiles<Format>& tiles) {
  tiles.of[kRows][0] = Format::template tile<kRows, 1>;
  tiles.of[kRows][1] = Format::template tile<kRows, panels_at_once(kRows, 2)>;
  tiles.of[kRows][2] = Format::template tile<kRows, panels_at_once(kRows)>;
  if constexpr (kRows > 1) add_tiles<Format, kRows - 1>(tiles);
}
template <class Format>
constexpr Tiles<Format> make_tiles() {
  Tiles<Format> tiles{};
  add_tiles(tiles);
  return tiles;
}

// Splits rows into tiles whose sizes differ by at most one, as a tile of few rows is slow.
// `in_one`: up to kMostRows rows are one tile.
template <class Format>
void run_tiles(const typename Format::Work& work, Range rows, Range columns, bool in_one) {
  static constexpr Tiles<Format> kTiles = make_tiles<Format>();
  const std::size_t count = rows.end - rows.begin;
  const std::size_t tiles = in_one && count <= kMostRows ? 1 : (count + kTileRows - 1) / kTileRows;
  const std::size_t most = panels_at_once((count + tiles - 1) / tiles);
  for (std::size_t c = columns.begin; c < columns.end;) {
    const std::size_t left = (columns.end - c + kPanel - 1) / kPanel;
    const std::size_t panels = left >= most ? most : 1;
    std::size_t row = rows.begin;
    for (std::size_t t = 0; t < tiles; ++t) {
      const std::size_t size = count / tiles + (t < count % tiles);
      kTiles.of[size][panels / 2](work, row, c);
      row += size;
    }
    c += panels * kPanel;
  }
}

// c[row + r][column + j] = sum(r, j) (+ bias) (then ReLU) for r in [0, rows), j in steps of a
// vector of [0, width); columns beyond the matrix are not written.
template <class Sum>
HWY_INLINE void finish_tile(const NarrowMatmul& m, std::size_t row, std::size_t rows,
                            std::size_t column, std::size_t width, const Sum& sum) {
  for (std::size_t j = 0; j < width && column + j < m.n; j += kLanes) {
    const std::size_t lanes = HWY_MIN(kLanes, m.n - column - j);
    const auto of_columns = [&](const float* all) HWY_ATTR {
      return lanes == kLanes ? load(all + column + j) : load_n(all + column + j, lanes);
    };
    const V bias = m.bias != nullptr ? of_columns(m.bias) : zero();
    for (std::size_t r = 0; r < rows; ++r) {
      V y = sum(r, j, of_columns);
      if (m.bias != nullptr) y = hn::Add(y, bias);
      if (m.relu) y = relu(y);
      float* const to = m.c + (row + r) * m.c_row_stride + column + j;
      lanes == kLanes ? store(y, to) : store_n(y, to, lanes);
    }
  }
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
