// Tiles: one block of the sum over k for a few rows and panels, in registers; and packing of A for
// them. Included once for every target.
#include "limpid/kernels/panels-inl.h"

#if defined(LIMPID_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_TILE_INL_H_
#undef LIMPID_KERNELS_TILE_INL_H_
#else
#define LIMPID_KERNELS_TILE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

// Floats per cache line.
constexpr std::size_t kLine = 16;

// Floats to prefetch for every term of a sum: two or more row tiles together prefetch the next
// panel. 16 rows times 4096 x 4096, from memory, take 4.9 ms; with four tiles per panel they took
// 6.0.
constexpr std::size_t kMostAhead = kPanel / 2, kLeastAhead = kPanel / 4;

// The operands of a tile: one block of the sum over k for a few rows and panels.
struct Part {
  const float* a;
  std::size_t a_stride;  // between rows, or between columns; unused if A is packed
  const float* b;
  std::size_t b_panel, b_step;
  std::size_t k;
  float* c;
  std::size_t c_row;
  std::size_t columns;
  const float* bias;                // at the first column, or nullptr
  const float* row_bias = nullptr;  // at the first row, instead of `bias`
  const float* ahead;               // memory to prefetch for a later call
  std::size_t ahead_step;           // up to kMostAhead; 0: nothing to prefetch
  bool first;                       // c is not initialised yet: the total starts at +0
  bool relu;
};

HWY_INLINE V finish(V sum, V before, V bias, const Part& part) {
  sum = hn::Add(before, sum);
  if (part.bias != nullptr) sum = hn::Add(sum, bias);
  return part.relu ? relu(sum) : sum;
}

// Adds sums[rows][width] to C in a partial last panel, or with a bias for each row.
HWY_NOINLINE void finish_apart(const float* sums, std::size_t rows, std::size_t width,
                               const Part& part) {
  for (std::size_t r = 0; r < rows; ++r) {
    float* const c = part.c + r * part.c_row;
    for (std::size_t j = 0; j < part.columns; j += kLanes) {
      const std::size_t lanes = part.columns - j;
      const bool whole = lanes >= kLanes;
      V sum = load(sums + r * width + j);
      V before = zero(), bias = zero();
      if (!part.first) before = whole ? load(c + j) : load_n(c + j, lanes);
      if (part.bias != nullptr) bias = whole ? load(part.bias + j) : load_n(part.bias + j, lanes);
      if (part.row_bias != nullptr) {
        sum = hn::Add(hn::Add(before, sum), set(part.row_bias[r]));
        if (part.relu) sum = relu(sum);
      } else {
        sum = finish(sum, before, bias, part);
      }
      if (whole)
        store(sum, c + j);
      else
        store_n(sum, c + j, lanes);
    }
  }
}

// The layout of A for a tile; packed: rows are interleaved. Constant strides leave more registers
// for the sums.
enum Layout : std::size_t { kRowMajor, kColumnMajor, kPacked };
constexpr std::size_t kLayouts = 3;

// Adds the terms of a part. kAhead: lines to prefetch for every term.
template <std::size_t kAhead, std::size_t kRows, std::size_t kWide, Layout kA>
HWY_INLINE void add_terms(const Part& part, V (&sum)[kRows][kWide]) {
  const std::size_t a_step = kA == kPacked ? kRows : kA == kRowMajor ? 1 : part.a_stride;
  const std::size_t a_row = kA == kRowMajor ? part.a_stride : 1;
  const float* a = part.a;
  const float* b = part.b;
  const std::size_t b_panel = part.b_panel, b_step = part.b_step;
  const float* ahead = part.ahead;
  const std::size_t ahead_step = part.ahead_step;
  for (std::size_t k = part.k; k != 0; --k) {
    LIMPID_UNROLL
    for (std::size_t line = 0; line < kAhead; ++line)
      __builtin_prefetch(ahead + line * kLine, 0, 2);
    V terms[kWide];
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide; ++w)
      terms[w] = load(b + w / kVectors * b_panel + w % kVectors * kLanes);
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const V x = set(a[r * a_row]);
      LIMPID_UNROLL
      for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = fma(x, terms[w], sum[r][w]);
    }
    a += a_step;
    b += b_step;
    ahead += ahead_step;
  }
}

template <std::size_t kRows, std::size_t kWide, Layout kA>
void tile(const Part& part) {
  V sum[kRows][kWide];
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = zero();
  }
  // Prefetches C while the sums are computed.
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide * kLanes; w += HWY_MAX(kLanes, kLine))
      __builtin_prefetch(part.c + r * part.c_row + w);
  }
  // Tiles of fewer rows come alone, with nothing to prefetch.
  if (kRows < kTileRows / 2 || part.ahead_step == 0)
    add_terms<0, kRows, kWide, kA>(part, sum);
  else if (part.ahead_step <= kLine)
    add_terms<1, kRows, kWide, kA>(part, sum);
  else
    add_terms<2, kRows, kWide, kA>(part, sum);

  if (part.columns < kWide * kLanes || part.row_bias != nullptr) {
    alignas(64) float sums[kRows][kWide * kLanes];
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      LIMPID_UNROLL
      for (std::size_t w = 0; w < kWide; ++w) store(sum[r][w], &sums[r][w * kLanes]);
    }
    return finish_apart(&sums[0][0], kRows, kWide * kLanes, part);
  }
  LIMPID_UNROLL
  for (std::size_t w = 0; w < kWide; ++w) {
    const V bias = part.bias != nullptr ? load(part.bias + w * kLanes) : zero();
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      float* const c = part.c + r * part.c_row + w * kLanes;
      store(finish(sum[r][w], part.first ? zero() : load(c), bias, part), c);
    }
  }
}

// Packs k terms of kRows rows of A, interleaved: out[i * kRows + r]. Writes up to kLanes floats
// beyond, which the next rows overwrite.
template <std::size_t kRows>
void pack_a(const Matrix& a, std::size_t row, std::size_t k_begin, std::size_t k, float* out) {
  const float* const from = a.data + row * a.row_stride + k_begin * a.col_stride;
  if (a.col_stride != 1) {
    for (std::size_t i = 0; i < k; ++i)
      __builtin_memcpy(out + i * kRows, from + i * a.col_stride, kRows * sizeof(float));
    return;
  }
  // From the last rows to the first, as a strip spills over the first lanes of the next term.
  const float* pointers[kLanes];
  for (std::size_t r = (kRows - 1) / kLanes * kLanes;; r -= kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i)
      pointers[i] = from + HWY_MIN(r + i, kRows - 1) * a.row_stride;
    transpose_strip(pointers, k, out + r, kRows);
    if (r == 0) return;
  }
}

// The functions for a number of rows.
struct RowKernels {
  using Tile = void (*)(const Part&);
  Tile tiles[kLayouts][4 * kVectors + 1];  // by layout of A, and by width
  void (*pack)(const Matrix&, std::size_t, std::size_t, std::size_t, float*);
};
template <std::size_t kRows, Layout kA, std::size_t kWide = 4 * kVectors>
constexpr void add_tiles(RowKernels::Tile (&tiles)[4 * kVectors + 1]) {
  constexpr bool within = kWide <= kVectors || kRows * kWide <= kAccumulators;
  if constexpr (within) tiles[kWide] = tile<kRows, kWide, kA>;
  if constexpr (kWide > 1) add_tiles<kRows, kA, (kWide > kVectors ? kWide / 2 : kWide - 1)>(tiles);
}

struct RowKernelsTable {
  RowKernels of[kTileRows + 1];
};
template <std::size_t kRows>
constexpr void add_rows(RowKernelsTable& table) {
  add_tiles<kRows, kRowMajor>(table.of[kRows].tiles[kRowMajor]);
  add_tiles<kRows, kColumnMajor>(table.of[kRows].tiles[kColumnMajor]);
  add_tiles<kRows, kPacked>(table.of[kRows].tiles[kPacked]);
  table.of[kRows].pack = pack_a<kRows>;
  if constexpr (kRows > 1) add_rows<kRows - 1>(table);
}
constexpr RowKernelsTable make_row_kernels() {
  RowKernelsTable table{};
  add_rows<kTileRows>(table);
  return table;
}
constexpr RowKernelsTable kRowKernels = make_row_kernels();

// Splits rows into tiles whose sizes differ by at most one, as a tile of few rows is slow. Calls
// visit(first row, size).
template <class Visit>
HWY_INLINE void for_each_tile(Range rows, const Visit& visit) {
  const std::size_t count = rows.end - rows.begin;
  const std::size_t tiles = (count + kTileRows - 1) / kTileRows;
  std::size_t row = rows.begin;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t size = count / tiles + (t < count % tiles);
    visit(row, size);
    row += size;
  }
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
