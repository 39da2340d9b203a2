// One row times a packed matrix. Included once for every target.
#include "limpid/kernels/panels-inl.h"

#if defined(LIMPID_KERNELS_VECMAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_VECMAT_INL_H_
#undef LIMPID_KERNELS_VECMAT_INL_H_
#else
#define LIMPID_KERNELS_VECMAT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

// One block of the sums of kWide vectors. It is limited by loads, so the terms of the row are
// loaded four at a time. With few sums, fewer instructions let the CPU start later work sooner.
template <std::size_t kWide>
HWY_INLINE void add_row(const float* a, const float* b, std::size_t b_panel, std::size_t b_step,
                        std::size_t k, V (&sum)[kWide]) {
  LIMPID_UNROLL
  for (std::size_t w = 0; w < kWide; ++w) sum[w] = zero();
  const auto add_term = [&](V x, const float* terms) HWY_ATTR {
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide; ++w)
      sum[w] = fma(x, load(terms + w / kVectors * b_panel + w % kVectors * kLanes), sum[w]);
  };
#if HWY_TARGET != HWY_SCALAR
  const auto add_four = [&]() HWY_ATTR {
    const V x = hn::LoadDup128(F32(), a);
    add_term(hn::Broadcast<0>(x), b);
    add_term(hn::Broadcast<1>(x), b + b_step);
    add_term(hn::Broadcast<2>(x), b + 2 * b_step);
    add_term(hn::Broadcast<3>(x), b + 3 * b_step);
    a += 4;
    b += 4 * b_step;
  };
  constexpr std::size_t kFours = kWide < kVectors ? 4 : 1;
  for (; k >= 4 * kFours; k -= 4 * kFours) {
    LIMPID_UNROLL
    for (std::size_t i = 0; i < kFours; ++i) add_four();
  }
  if constexpr (kFours > 1)
    for (; k >= 4; k -= 4) add_four();
#endif
  for (; k != 0; --k, ++a, b += b_step) add_term(set(*a), b);
}

// Computes kWide vectors of columns, from `column` on.
template <std::size_t kWide>
void row_tile(const MatmulRow& row, std::size_t column, const float* a, const float* packed_b,
              const float* bias, float* c) {
  const std::size_t left = row.n - column;
  const float* const b = packed_b + column * row.k;
  const std::size_t b_panel = row.k * kPanel;
  const std::size_t b_step = kWide < kVectors ? panel_step(row.n, column) : kPanel;
  V total[kWide];
  add_row(a, b, b_panel, b_step, HWY_MIN(kBlock, row.k), total);
  for (std::size_t k = kBlock; k < row.k; k += kBlock) {
    V sum[kWide];
    add_row(a + k, b + k * b_step, b_panel, b_step, HWY_MIN(kBlock, row.k - k), sum);
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide; ++w) total[w] = hn::Add(total[w], sum[w]);
  }
  LIMPID_UNROLL
  for (std::size_t w = 0; w < kWide; ++w) {
    const std::size_t j = w * kLanes;
    // Only the last vector of a tile may be partial.
    const bool whole = w + 1 < kWide || j + kLanes <= left;
    // The total starts at +0, so it is never -0. Adding +0 to the bias has the same effect, and no
    // result waits for it.
    V start = zero();
    if (bias != nullptr)
      start = hn::Add(start, whole ? load(bias + column + j) : load_n(bias + column + j, left - j));
    V y = hn::Add(total[w], start);
    if (row.relu) y = relu(y);
    if (whole || row.padded)
      store(y, c + column + j);
    else
      store_n(y, c + column + j, left - j);
  }
}

struct RowTiles {
  using Tile = void (*)(const MatmulRow&, std::size_t, const float*, const float*, const float*,
                        float*);
  Tile of[4 * kVectors + 1];  // by width
};
template <std::size_t kWide = 4 * kVectors>
constexpr void add_row_tiles(RowTiles& table) {
  table.of[kWide] = row_tile<kWide>;
  if constexpr (kWide > 1) add_row_tiles<(kWide > kVectors ? kWide / 2 : kWide - 1)>(table);
}
constexpr RowTiles make_row_tiles() {
  RowTiles table{};
  add_row_tiles(table);
  return table;
}
constexpr RowTiles kRowTiles = make_row_tiles();

void matmul_row(const MatmulRow& row, const float* a, const float* packed_b, const float* bias,
                float* c) {
  for (std::size_t column = 0; column < row.n;) {
    const std::size_t width = width_of(1, row.n - column);
    kRowTiles.of[width](row, column, a, packed_b, bias, c);
    column += width * kLanes;
  }
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
