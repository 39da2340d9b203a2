// Matrix products: docs/arithmetic.md, "Products and sums". Lanes and register tiles run over
// outputs, never over k, so their sizes cannot change the result. A block of kBlock terms of one
// panel of B stays in the first-level cache while all rows of A are multiplied with it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/matmul.cc"
#include "limpid/kernels/cache_sizes.h"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/conv-inl.h"
#include "limpid/kernels/matvec-inl.h"
#include "limpid/kernels/tile-inl.h"
#include "limpid/kernels/vecmat-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

// Rows of A whose block of kBlock columns fits the second-level cache.
constexpr std::size_t kRowBlock = 288;
// If B is packed, several blocks of the sum are added before the next columns, while the part of C
// is still in a near cache: as many blocks as keep the part of A, kNearRows blocks of one row in
// total, in the second-level cache. If there are more than kRowBlock rows, they are taken kDeepRows
// at a time.
constexpr std::size_t kNearRows = 512, kDeepRows = 120;
static_assert(kRowBlock <= kNearRows);
// Columns of B packed at a time if there are more than kRowBlock rows.
constexpr std::size_t kColumnBlock = 512;
// Panels of B packed at a time if there are not.
constexpr std::size_t kChunkPanels = 4;
// With fewer columns than this, A is read in place: too few columns share the cost of packing it. A
// column-major A is read in place as fast: A^T B of 128 x 128 x 768 takes 225 us in place and 240
// packed, of 512 x 128 x 768 889 and 986; 1024 x 1024 x 1024 takes 3 % longer in place.
constexpr std::size_t kPackAColumns = 512, kPackColumnMajorColumns = 1024;
// Up to this number of rows, an unpacked row-major B is read in place.
constexpr std::size_t kDirectRows = kTileRows;

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
    return round_up(HWY_MIN(rows * k, kNearRows * kBlock) + kLanes, 16);
  }
  static std::size_t b_floats(std::size_t rows, std::size_t n, std::size_t k) {
    const std::size_t most = rows > kRowBlock ? kColumnBlock : kChunkPanels * kPanel;
    return HWY_MIN(round_up(n, kPanel), most) * HWY_MIN(k, kBlock);
  }

  void run() const {
    if (source_ == Source::kPacked) return run_packed();
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

  void run_packed() const {
    const std::size_t together = one_row_block_ ? rows_.end - rows_.begin : kDeepRows;
    const std::size_t terms = kNearRows / together * kBlock;
    for (std::size_t r = rows_.begin; r < rows_.end; r += together) {
      const Range rows = {r, HWY_MIN(r + together, rows_.end)};
      std::size_t begin = 0;
      do {
        const Range k = {begin, HWY_MIN(begin + terms, m_.k)};
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
      if (whole) {
        multiply(rows, columns, k, scratch_panels(k));
        continue;
      }
      for (std::size_t c = columns.begin; c < columns.end; c += kChunkPanels * kPanel) {
        const Range chunk = {c, HWY_MIN(c + kChunkPanels * kPanel, columns.end)};
        multiply(rows, chunk, k, panels_of(chunk, k));
      }
    }
  }

  Panels scratch_panels(Range k) const { return {b_scratch_, (k.end - k.begin) * kPanel, kPanel}; }
  // Packs the part of a chunk that has to be packed.
  Panels panels_of(Range chunk, Range k) const {
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

  void pack_rows(Range rows, Range k) const {
    for (std::size_t begin = k.begin; begin < k.end; begin += kBlock) {
      const Range block = {begin, HWY_MIN(begin + kBlock, k.end)};
      for_each_tile(rows, [&](std::size_t row, std::size_t size) HWY_ATTR {
        kRowKernels.of[size].pack(m_.a, row, begin, block.end - begin,
                                  packed_a(row, rows, k.begin, block));
      });
    }
  }
  // The position of a row's block. The order is: all rows of one block, then all rows of the next.
  HWY_INLINE float* packed_a(std::size_t row, Range rows, std::size_t first_k, Range block) const {
    return a_scratch_ + (rows.end - rows.begin) * (block.begin - first_k) +
           (row - rows.begin) * (block.end - block.begin);
  }

  // Adds the terms in `k`, panel after panel. `k` may span several blocks only if B is packed.
  void multiply(Range rows, Range columns, Range k, const Panels& panels) const {
    Part part;
    part.b_panel = panels.panel;
    part.c_row = m_.c_row_stride;
    const std::size_t count = rows.end - rows.begin;
    const bool few = count <= kTileRows;
    // A B that this call packs is still in the second-level cache; one packed earlier is, if it
    // takes at most half of that cache.
    const bool far =
        source_ == Source::kPacked && m_.n * m_.k * sizeof(float) > second_level_cache_bytes() / 2;
    const std::size_t step_ahead =
        HWY_MAX(kLeastAhead, HWY_MIN(kMostAhead, kPanel * kTileRows / count + 1));
    std::size_t width = 0;
    for (std::size_t c = columns.begin; c < columns.end; c += width * kLanes) {
      const std::size_t left = columns.end - c;
      width = width_of(count, left);
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
        part.ahead_step = follows && far && !few ? step_ahead : 0;
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
  Layout a_layout_;
  float* a_scratch_;
  float* b_scratch_;
  Source source_;
};

std::size_t matmul_scratch_floats(std::size_t m, std::size_t n, std::size_t k) {
  return Product::a_floats(m, k) + Product::b_floats(m, n, k);
}

// Up to this number of rows, each row is multiplied by itself rather than packing B for them.
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

// The part of a row in `columns`: panels are independent of each other.
HWY_NOINLINE void row_times_packed(const Matmul& m, std::size_t row, Range columns) {
  const std::size_t first = columns.begin;
  matmul_row({.n = columns.end - first, .k = m.k, .relu = m.relu, .padded = false},
             m.a.data + row * m.a.row_stride, m.packed_b + first * m.k,
             m.bias != nullptr ? m.bias + first : nullptr, m.c + row * m.c_row_stride + first);
}

HWY_NOINLINE void product(const Matmul& matmul, Range rows, Range columns, float* scratch) {
  Product(matmul, rows, columns, scratch).run();
}

// Separate and small: one row of a small network takes less time than preparing for more rows.
void matmul(const Matmul& matmul, Range rows, Range columns, float* scratch) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return;
  const std::size_t row_count = rows.end - rows.begin;
  if (row_count == 1 && matmul.packed_b != nullptr && matmul.a.col_stride == 1)
    return row_times_packed(matmul, rows.begin, columns);
  // Fewer rows would leave lanes idle, and a packed column has a faster way.
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
  fill_conv(table);
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_matmul(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_matmul(table)) }

}  // namespace limpid::kernels
#endif
