// Matrix products: docs/arithmetic.md, "Products and sums". Lanes and register tiles run over
// outputs, never over k, so that their sizes cannot show in the result. A block of kBlock terms of
// one panel of B stays in the first-level cache while the rows of A pass by.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/matmul.cc"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/matvec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

// A register tile: kTileRows rows by kVectors vectors of one panel, as many accumulators as leave
// registers for the operands. On AVX-512 six rows by 64 columns reach 115 GFLOP/s of 118 where
// twelve by 32 reach 110: half as many rows of A and of C to follow outweighs that a panel is no
// longer in the first-level cache.
#if HWY_TARGET == HWY_AVX3
constexpr std::size_t kTileRows = 6, kVectors = 4;
#elif HWY_TARGET == HWY_AVX2
constexpr std::size_t kTileRows = 6, kVectors = 2;
#elif HWY_TARGET == HWY_NEON
constexpr std::size_t kTileRows = 6, kVectors = 4;
#else
constexpr std::size_t kTileRows = 2, kVectors = 4;
#endif
constexpr std::size_t kAccumulators = kTileRows * kVectors;
constexpr std::size_t kPanel = kVectors * kLanes;

// Rows whose part of A, kBlock columns of it, stays in the second-level cache.
constexpr std::size_t kRowBlock = 288;
// Where there are more rows than that and B is packed, fewer of them go through several blocks of
// the sum before the next rows do: what a block is added to is still in a near cache then.
constexpr std::size_t kDeepRows = 120, kDeepBlocks = 4;
// Columns of B packed at once where there are more rows than that.
constexpr std::size_t kColumnBlock = 512;
// Panels of B packed at once where there are not.
constexpr std::size_t kChunkPanels = 4;
// A is read in place where fewer columns share the work of packing it. One in columns is read as
// fast there: 128 x 128 x 768 of A^T B takes 225 us so and took 240 packed, 512 x 128 x 768 takes
// 889 and took 986; 1024 x 1024 x 1024 takes 3 % longer.
constexpr std::size_t kPackAColumns = 512, kPackColumnMajorColumns = 1024;
// Up to here rows read an unpacked row-major B in place.
constexpr std::size_t kDirectRows = kTileRows;

HWY_INLINE std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

// Floats of a cache line.
constexpr std::size_t kLine = 16;

// Floats that are fetched ahead for every term of a sum: two tiles of rows, or as many more as
// there are, fetch the next panel. 16 rows times 4096 x 4096, from memory, take 4.9 ms so; where
// only four tiles fetched a panel they took 6.0.
constexpr std::size_t kMostAhead = kPanel / 2, kLeastAhead = kPanel / 4;

// One block of the sum over k for a few rows and some panels.
struct Part {
  const float* a;
  std::size_t a_stride;  // from a row to the next, or from a column; unused where A is packed
  const float* b;
  std::size_t b_panel, b_step;
  std::size_t k;
  float* c;
  std::size_t c_row;
  std::size_t columns;
  const float* bias;       // of the first column, or nullptr
  const float* ahead;      // what a later call reads
  std::size_t ahead_step;  // up to kMostAhead, or 0 where there is nothing to fetch
  bool first;              // c holds nothing yet
  bool relu;
};

HWY_INLINE V finish(V sum, V before, V bias, const Part& part) {
  if (!part.first) sum = hn::Add(before, sum);
  if (part.bias != nullptr) sum = hn::Add(sum, bias);
  return part.relu ? relu(sum) : sum;
}

// Adds sums[rows][width] to C, where the last panel is not whole.
HWY_NOINLINE void finish_partial(const float* sums, std::size_t rows, std::size_t width,
                                 const Part& part) {
  for (std::size_t r = 0; r < rows; ++r) {
    float* const c = part.c + r * part.c_row;
    for (std::size_t j = 0; j < part.columns; j += kLanes) {
      const std::size_t lanes = part.columns - j;
      const V sum = load(sums + r * width + j);
      if (lanes >= kLanes) {
        const V bias = part.bias != nullptr ? load(part.bias + j) : zero();
        store(finish(sum, part.first ? zero() : load(c + j), bias, part), c + j);
      } else {
        const V bias = part.bias != nullptr ? load_n(part.bias + j, lanes) : zero();
        store_n(finish(sum, part.first ? zero() : load_n(c + j, lanes), bias, part), c + j, lanes);
      }
    }
  }
}

// How a tile reads A. Packed, its rows stand side by side. That its strides are mostly constants
// leaves the registers to the sums.
enum Layout : std::size_t { kRowMajor, kColumnMajor, kPacked };
constexpr std::size_t kLayouts = 3;

template <std::size_t kRows, std::size_t kWide, Layout kA>
void tile(const Part& part) {
  const std::size_t a_step = kA == kPacked ? kRows : kA == kRowMajor ? 1 : part.a_stride;
  const std::size_t a_row = kA == kRowMajor ? part.a_stride : 1;
  V sum[kRows][kWide];
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = zero();
  }
  // What the sums are added to is on its way from a farther cache while they form.
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide * kLanes; w += HWY_MAX(kLanes, kLine))
      __builtin_prefetch(part.c + r * part.c_row + w);
  }
  const float* a = part.a;
  const float* b = part.b;
  const std::size_t b_panel = part.b_panel, b_step = part.b_step;
  const float* ahead = part.ahead;
  const std::size_t ahead_step = part.ahead_step;
  for (std::size_t k = part.k; k != 0; --k) {
    // Fewer rows come alone, and then nothing is fetched.
    if constexpr (kRows >= kTileRows / 2) {
      __builtin_prefetch(ahead, 0, 2);
      if constexpr (kMostAhead > kLine) __builtin_prefetch(ahead + kLine, 0, 2);
    }
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

  if (part.columns < kWide * kLanes) {
    alignas(64) float sums[kRows][kWide * kLanes];
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      LIMPID_UNROLL
      for (std::size_t w = 0; w < kWide; ++w) store(sum[r][w], &sums[r][w * kLanes]);
    }
    return finish_partial(&sums[0][0], kRows, kWide * kLanes, part);
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

// kRows rows of A, k terms of each, side by side: out[i * kRows + r]. Writes up to kLanes floats
// beyond, which the rows that follow overwrite.
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

// The widest tile of so many rows for the columns that are left. Few rows take several panels at
// once: one alone would leave the units waiting for the latency of its sums.
constexpr std::size_t width_of(std::size_t rows, std::size_t columns) {
  const std::size_t vectors = (columns + kLanes - 1) / kLanes;
  if (vectors < kVectors) return vectors;
  std::size_t width = kVectors;
  while (2 * width <= 4 * kVectors && 2 * width <= vectors && rows * 2 * width <= kAccumulators)
    width *= 2;
  return width;
}

// What is compiled for a number of rows.
struct RowKernels {
  using Tile = void (*)(const Part&);
  Tile tiles[kLayouts][4 * kVectors + 1];  // by how A is read, and by width
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

// Terms [k_begin, k_begin + k) of columns [column, column + width) of B as one panel of `step`
// columns, k <= kBlock; columns that are missing become zeros. Writes up to kLanes floats beyond.
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
  // From the last columns to the first, as a strip spills over the first lanes of the next term.
  const float* pointers[kLanes];
  for (std::size_t j = (step - 1) / kLanes * kLanes;; j -= kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i)
      pointers[i] = j + i < width ? from + (j + i) * b.col_stride : kZeros;
    transpose_strip(pointers, k, out + j, step);
    if (j == 0) return;
  }
}

// Floats from a term to the next in the panel that begins at `column`. The last panel is as narrow
// as its columns need: whole vectors, or less where half a vector would be waste, so that the
// weights of a single output take no more of the cache than they are. Lanes beyond the columns then
// hold the next terms, and nobody reads them.
HWY_INLINE std::size_t panel_step(std::size_t n, std::size_t column) {
  const std::size_t left = n - column;
  return 2 * left <= kLanes ? left : HWY_MIN(kPanel, round_up(left, kLanes));
}

// Reading and writing reaches beyond the last term.
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

// Where a block of B is read: panel p, term i at data + p * panel + i * step. The last panel of a
// packed B has a step of its own.
struct Panels {
  const float* data;
  std::size_t panel, step;
};

// One call of matmul(): which blocks are packed, and where to.
class Product {
 public:
  HWY_INLINE Product(const Matmul& matmul, Range rows, Range columns, float* scratch)
      : m_(matmul),
        rows_(rows),
        columns_(columns),
        one_row_block_(rows.end - rows.begin <= kRowBlock),
        deep_(!one_row_block_ && matmul.packed_b != nullptr),
        a_layout_(layout_of_a(matmul.a, rows, columns)),
        a_scratch_(scratch),
        b_scratch_(scratch + a_floats(rows.end - rows.begin, matmul.k)) {
    if (matmul.packed_b != nullptr)
      source_ = Source::kPacked;
    else if (matmul.b.col_stride == 1 && rows.end - rows.begin <= kDirectRows)
      source_ = Source::kDirect;
    else
      source_ = Source::kScratch;
  }

  static std::size_t a_floats(std::size_t rows, std::size_t k) {
    const std::size_t deep = rows > kRowBlock ? kDeepRows * HWY_MIN(k, kDeepBlocks * kBlock) : 0;
    return round_up(HWY_MAX(HWY_MIN(rows, kRowBlock) * HWY_MIN(k, kBlock), deep) + kLanes, 16);
  }
  static std::size_t b_floats(std::size_t rows, std::size_t n, std::size_t k) {
    const std::size_t most = rows > kRowBlock ? kColumnBlock : kChunkPanels * kPanel;
    return HWY_MIN(round_up(n, kPanel), most) * HWY_MIN(k, kBlock);
  }

  void run() const {
    if (deep_) return run_deep();
    const bool whole = source_ == Source::kScratch && !one_row_block_;
    const std::size_t step = whole ? kColumnBlock : columns_.end - columns_.begin;
    for (std::size_t c = columns_.begin; c < columns_.end; c += step) {
      const Range columns = {c, HWY_MIN(c + step, columns_.end)};
      std::size_t k = 0;
      do {
        add_block(columns, {k, HWY_MIN(k + kBlock, m_.k)}, whole);
        k += kBlock;
      } while (k < m_.k);
    }
  }

 private:
  enum class Source { kPacked, kDirect, kScratch };

  static Layout layout_of_a(const Matrix& a, Range rows, Range columns) {
    const bool row_major = a.col_stride == 1;
    const std::size_t enough = row_major ? kPackAColumns : kPackColumnMajorColumns;
    if (rows.end - rows.begin > kTileRows && columns.end - columns.begin >= enough) return kPacked;
    return row_major ? kRowMajor : kColumnMajor;
  }

  void run_deep() const {
    for (std::size_t r = rows_.begin; r < rows_.end; r += kDeepRows) {
      const Range rows = {r, HWY_MIN(r + kDeepRows, rows_.end)};
      std::size_t begin = 0;
      do {
        const Range k = {begin, HWY_MIN(begin + kDeepBlocks * kBlock, m_.k)};
        if (a_layout_ == kPacked) pack_rows(rows, k);
        multiply(rows, columns_, k, packed_panel(columns_.begin, k));
        begin = k.end;
      } while (begin < m_.k);
    }
  }

  // Adds the terms in `k` to C in `columns`.
  void add_block(Range columns, Range k, bool whole) const {
    if (whole) pack_b(columns, k);
    for (std::size_t r = rows_.begin; r < rows_.end; r += kRowBlock) {
      const Range rows = {r, HWY_MIN(r + kRowBlock, rows_.end)};
      if (a_layout_ == kPacked) pack_rows(rows, k);
      if (whole || source_ == Source::kPacked) {
        multiply(rows, columns, k, whole ? scratch_panels(k) : panels_of(columns, k));
        continue;
      }
      for (std::size_t c = columns.begin; c < columns.end; c += kChunkPanels * kPanel) {
        const Range chunk = {c, HWY_MIN(c + kChunkPanels * kPanel, columns.end)};
        multiply(rows, chunk, k, panels_of(chunk, k));
      }
    }
  }

  Panels scratch_panels(Range k) const { return {b_scratch_, (k.end - k.begin) * kPanel, kPanel}; }
  // Packs what has to be packed of a chunk.
  Panels panels_of(Range chunk, Range k) const {
    if (source_ == Source::kPacked) return packed_panel(chunk.begin, k);
    // The last columns cannot be read in place: a vector would reach beyond them.
    const bool in_place = source_ == Source::kDirect && (chunk.end - chunk.begin) % kPanel == 0;
    if (in_place)
      return {m_.b.data + k.begin * m_.b.row_stride + chunk.begin, kPanel, m_.b.row_stride};
    pack_b(chunk, k);
    return scratch_panels(k);
  }
  Panels packed_panel(std::size_t column, Range k) const {
    const std::size_t step = panel_step(m_.n, column);
    return {m_.packed_b + column * m_.k + k.begin * step, m_.k * kPanel, step};
  }
  void pack_b(Range columns, Range k) const {
    const std::size_t length = k.end - k.begin;
    for (std::size_t c = columns.begin; c < columns.end; c += kPanel)
      pack_panel(m_.b, k.begin, length, c, HWY_MIN(kPanel, columns.end - c), kPanel,
                 b_scratch_ + (c - columns.begin) * length);
  }

  // Rows are cut into tiles of sizes that differ by one at most: a tile of few rows is slow.
  template <class Visit>
  HWY_INLINE static void for_each_tile(Range rows, const Visit& visit) {
    const std::size_t count = rows.end - rows.begin;
    const std::size_t tiles = (count + kTileRows - 1) / kTileRows;
    std::size_t row = rows.begin;
    for (std::size_t t = 0; t < tiles; ++t) {
      const std::size_t size = count / tiles + (t < count % tiles);
      visit(row, size);
      row += size;
    }
  }
  void pack_rows(Range rows, Range k) const {
    for (std::size_t begin = k.begin; begin < k.end; begin += kBlock) {
      const Range block = {begin, HWY_MIN(begin + kBlock, k.end)};
      for_each_tile(rows, [&](std::size_t row, std::size_t size) HWY_ATTR {
        kRowKernels.of[size].pack(m_.a, row, begin, block.end - begin,
                                  packed_a(row, rows, k.begin, block));
      });
    }
  }
  // Where a block of a row stands: the rows of one block, then those of the next.
  HWY_INLINE float* packed_a(std::size_t row, Range rows, std::size_t first_k, Range block) const {
    return a_scratch_ + (rows.end - rows.begin) * (block.begin - first_k) +
           (row - rows.begin) * (block.end - block.begin);
  }

  // Adds the terms in `k`, panel after panel; several blocks of them only where B is packed.
  void multiply(Range rows, Range columns, Range k, const Panels& panels) const {
    Part part;
    part.b_panel = panels.panel;
    part.c_row = m_.c_row_stride;
    const std::size_t count = rows.end - rows.begin;
    const bool few = count <= kTileRows;
    const std::size_t step_ahead =
        HWY_MAX(kLeastAhead, HWY_MIN(kMostAhead, kPanel * kTileRows / count + 1));
    std::size_t width = 0;
    for (std::size_t c = columns.begin; c < columns.end; c += width * kLanes) {
      const std::size_t left = columns.end - c;
      width = few ? width_of(count, left) : width_of(kTileRows, left);
      const Panels here = source_ == Source::kPacked
                              ? packed_panel(c, k)
                              : Panels{panels.data + (c - columns.begin) / kPanel * panels.panel,
                                       panels.panel, panels.step};
      part.b_step = here.step;
      part.columns = HWY_MIN(width * kLanes, left);
      std::size_t begin = k.begin;
      do {
        const Range block = {begin, HWY_MIN(begin + kBlock, k.end)};
        const bool panel_ends = block.end == k.end, sum_ends = block.end == m_.k;
        part.k = block.end - begin;
        part.b = here.data + (begin - k.begin) * here.step;
        part.first = begin == 0;
        part.bias = sum_ends && m_.bias != nullptr ? m_.bias + c : nullptr;
        part.relu = sum_ends && m_.relu;
        part.ahead = panel_ends ? here.data + panels.panel : part.b + part.k * kPanel;
        const bool follows = here.step == kPanel && (!panel_ends || left > kPanel);
        part.ahead_step = follows && !few ? step_ahead : 0;
        const float* const ahead_end = part.ahead + part.k * kPanel;
        for_each_tile(rows, [&](std::size_t row, std::size_t size) HWY_ATTR {
          place_a(row, rows, k.begin, block, part);
          part.c = m_.c + row * m_.c_row_stride + c;
          kRowKernels.of[size].tiles[a_layout_][width](part);
          part.ahead += part.k * part.ahead_step;
          if (part.ahead >= ahead_end) {
            part.ahead_step = 0;
            part.ahead = part.b;
          }
        });
        begin = block.end;
      } while (begin < k.end);
    }
  }
  HWY_INLINE void place_a(std::size_t row, Range rows, std::size_t first_k, Range block,
                          Part& part) const {
    if (a_layout_ == kPacked) {
      part.a = packed_a(row, rows, first_k, block);
    } else {
      part.a = m_.a.data + row * m_.a.row_stride + block.begin * m_.a.col_stride;
      part.a_stride = a_layout_ == kRowMajor ? m_.a.row_stride : m_.a.col_stride;
    }
  }

  const Matmul& m_;
  Range rows_, columns_;
  bool one_row_block_;
  bool deep_;
  Layout a_layout_;
  float* a_scratch_;
  float* b_scratch_;
  Source source_;
};

std::size_t matmul_scratch_floats(std::size_t m, std::size_t n, std::size_t k) {
  return Product::a_floats(m, k) + Product::b_floats(m, n, k);
}

// Up to here rows are taken one after the other where B would have to be packed for them.
constexpr std::size_t kVectorRows = 2;

// Each row of A times the only column of B.
HWY_NOINLINE void times_column(const Matmul& m, Range rows) {
  const bool packed = m.packed_b != nullptr;
  matvec({.w = m.a.data + rows.begin * m.a.row_stride,
          .w_row = m.a.row_stride,
          .x = packed ? m.packed_b : m.b.data,
          .x_step = packed ? panel_step(m.n, 0) : m.b.row_stride,
          .outputs = rows.end - rows.begin,
          .k = m.k,
          .out = m.c + rows.begin * m.c_row_stride,
          .out_step = m.c_row_stride,
          .bias = m.bias,
          .bias_step = 0,
          .relu = m.relu});
}
// A row of A times each column of a transposed B.
HWY_NOINLINE void row_times_columns(const Matmul& m, std::size_t row, Range columns) {
  matvec({.w = m.b.data + columns.begin * m.b.col_stride,
          .w_row = m.b.col_stride,
          .x = m.a.data + row * m.a.row_stride,
          .x_step = m.a.col_stride,
          .outputs = columns.end - columns.begin,
          .k = m.k,
          .out = m.c + row * m.c_row_stride + columns.begin,
          .out_step = 1,
          .bias = m.bias != nullptr ? m.bias + columns.begin : nullptr,
          .bias_step = 1,
          .relu = m.relu});
}

// ---- one row times a packed matrix

// One block of the sums of kWide vectors. What bounds it are the loads, as wide as the units that
// add: the terms of the row are loaded four at a time. Where there are few sums, the fewer
// instructions, the more of what comes behind them begins before they are through.
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
  const auto add_four = [&] HWY_ATTR {
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

// kWide vectors of the columns from `column` on.
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
    // A tile begins all its vectors: only the last one may be cut short.
    const bool whole = w + 1 < kWide || j + kLanes <= left;
    V y = total[w];
    if (bias != nullptr)
      y = hn::Add(y, whole ? load(bias + column + j) : load_n(bias + column + j, left - j));
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

// The part of a row in `columns`: panels do not know what is before them.
HWY_NOINLINE void row_times_packed(const Matmul& m, std::size_t row, Range columns) {
  const std::size_t first = columns.begin;
  matmul_row({.n = columns.end - first, .k = m.k, .relu = m.relu, .padded = false},
             m.a.data + row * m.a.row_stride, m.packed_b + first * m.k,
             m.bias != nullptr ? m.bias + first : nullptr, m.c + row * m.c_row_stride + first);
}

HWY_NOINLINE void product(const Matmul& matmul, Range rows, Range columns, float* scratch) {
  Product(matmul, rows, columns, scratch).run();
}

// Small: one row of a small network is through before the preparations for more would be.
void matmul(const Matmul& matmul, Range rows, Range columns, float* scratch) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return;
  const std::size_t row_count = rows.end - rows.begin;
  if (row_count == 1 && matmul.packed_b != nullptr && matmul.a.col_stride == 1)
    return row_times_packed(matmul, rows.begin, columns);
  // Fewer rows would leave lanes idle, and a packed column need not be read like that.
  const bool enough_rows = matmul.packed_b == nullptr || row_count >= kLanes;
  if (matmul.n == 1 && matmul.a.col_stride == 1 && enough_rows) return times_column(matmul, rows);
  const bool transposed_b = matmul.packed_b == nullptr && matmul.b.row_stride == 1;
  if (!transposed_b || row_count > kVectorRows) return product(matmul, rows, columns, scratch);
  for (std::size_t r = rows.begin; r < rows.end; ++r) row_times_columns(matmul, r, columns);
}

void fill_matmul(Kernels& table) {
  table.lanes = kLanes;
  table.panel_width = kPanel;
  table.packed_floats = packed_floats;
  table.pack = pack;
  table.matmul_scratch_floats = matmul_scratch_floats;
  table.matmul = matmul;
  table.matmul_row = matmul_row;
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_matmul(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_matmul(table)) }

}  // namespace limpid::kernels
#endif
