// Attention: scores, softmax and the weighted sum for one block of queries at a time, so that
// memory grows with the number of keys, not with queries times keys. The bits are those of
// core/attend.h: a masked key is left out of the sums, not weighted with zero.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/attention.cc"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {
namespace {

using arithmetic::kBlock;

// A register tile: kTileRows queries by kTileVectors vectors of keys, or of elements of a value.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_WASM
constexpr std::size_t kTileRows = 6, kTileVectors = 2;
#elif HWY_TARGET == HWY_SCALAR
constexpr std::size_t kTileRows = 2, kTileVectors = 4;
#else
constexpr std::size_t kTileRows = 6, kTileVectors = 4;
#endif
constexpr std::size_t kPanel = kTileVectors * kLanes;
// Few queries take several panels at once: one alone would leave the units waiting for its sums.
constexpr std::size_t kMostVectors = 4 * kTileVectors;

// Scores worked on at a time, in floats; few enough for the second-level cache.
constexpr std::size_t kMostScores = std::size_t{96} << 10;
constexpr std::size_t kMostRows = 16 * kTileRows;
// How many floats ahead keys or values are prefetched when they are read in place: they come as
// separate runs of about a kilobyte, which no hardware prefetcher follows.
constexpr std::size_t kFloatsAhead = 1024;
// Up to this number of rows, column-major keys are read in place.
constexpr std::size_t kRowsInPlace = 2 * kTileRows;

HWY_INLINE std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

// c[r][j] (+)= sum over i < k of a[r][i] b[i][j], at most one block of a sum. If rows differ in
// their number of terms, row r has `terms[r]`: at least k, at most k + kTileRows.
struct Part {
  const float* a;
  std::size_t a_row;
  const float* b;
  std::size_t b_panel, b_step;  // from a panel to the next, from a term to the next
  std::size_t k;
  float* c;
  std::size_t c_row;
  bool first;                // c holds nothing yet: the total starts at +0
  const float* next;         // what is read after the last term, where b comes from memory
  const std::size_t* terms;  // nullptr: k of every row
};

template <std::size_t kRows, std::size_t kWide>
HWY_INLINE void add_term(const Part& part, std::size_t i, const bool* counts,
                         V (&sum)[kRows][kWide]) {
  V terms[kWide];
  const float* const b = part.b + i * part.b_step;
  LIMPID_UNROLL
  for (std::size_t w = 0; w < kWide; ++w)
    terms[w] = load(b + w / kTileVectors * part.b_panel + w % kTileVectors * kLanes);
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    if (counts != nullptr && !counts[r]) continue;
    const V x = set(part.a[r * part.a_row + i]);
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = fma(x, terms[w], sum[r][w]);
  }
}

template <std::size_t kRows, std::size_t kWide>
void tile(const Part& part) {
  V sum[kRows][kWide];
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide; ++w) sum[r][w] = zero();
  }
  for (std::size_t i = 0; i < part.k; ++i) {
    if constexpr (kWide >= kTileVectors) {
      if (part.next != nullptr) {
        constexpr std::size_t kAhead = HWY_MAX(1, kFloatsAhead / (kWide * kLanes));
        const float* const ahead = i + kAhead < part.k
                                       ? part.b + (i + kAhead) * part.b_step
                                       : part.next + (i + kAhead - part.k) * part.b_step;
        LIMPID_UNROLL
        for (std::size_t w = 0; w < kWide * kLanes; w += HWY_MAX(kLanes, 16))
          __builtin_prefetch(ahead + w);
      }
    }
    add_term<kRows, kWide>(part, i, nullptr, sum);
  }
  if (part.terms != nullptr)
    for (std::size_t i = part.k; i < part.terms[kRows - 1]; ++i) {
      bool counts[kRows];
      for (std::size_t r = 0; r < kRows; ++r) counts[r] = i < part.terms[r];
      add_term<kRows, kWide>(part, i, counts, sum);
    }
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    LIMPID_UNROLL
    for (std::size_t w = 0; w < kWide; ++w) {
      float* const c = part.c + r * part.c_row + w * kLanes;
      store(hn::Add(part.first ? zero() : load(c), sum[r][w]), c);
    }
  }
}

// The widest tile of `rows` rows for the vectors that are left.
constexpr std::size_t width_of(std::size_t rows, std::size_t vectors) {
  if (vectors < kTileVectors) return vectors;
  std::size_t width = kTileVectors;
  while (2 * width <= HWY_MIN(kMostVectors, vectors) &&
         rows * 2 * width <= kTileRows * kTileVectors)
    width *= 2;
  return width;
}

using Tile = void (*)(const Part&);
struct Tiles {
  Tile of[kTileRows + 1][kMostVectors + 1];
};
template <std::size_t kRows, std::size_t kWide>
constexpr void add_tiles(Tiles& tiles) {
  if constexpr (kWide <= kTileVectors || kRows * kWide <= kTileRows * kTileVectors)
    tiles.of[kRows][kWide] = tile<kRows, kWide>;
  if constexpr (kWide > 1)
    add_tiles<kRows, (kWide > kTileVectors ? kWide / 2 : kWide - 1)>(tiles);
  else if constexpr (kRows > 1)
    add_tiles<kRows - 1, kMostVectors>(tiles);
}
constexpr Tiles make_tiles() {
  Tiles tiles{};
  add_tiles<kTileRows, kMostVectors>(tiles);
  return tiles;
}
constexpr Tiles kTiles = make_tiles();

HWY_INLINE bool are_finite_and_not_zero(const float* x, std::size_t n) {
  bool all = true;
  for (std::size_t i = 0; i < n; ++i) all &= std::fabs(x[i]) > 0 && std::fabs(x[i]) < HUGE_VALF;
  return all;
}

// Offsets in a thread's scratch, in floats.
struct Layout {
  std::size_t rows, score_row, value_row;
  std::size_t queries, scores, keys, values, results, end;

  Layout(std::size_t most_keys, std::size_t size, std::size_t value_size)
      : score_row(round_up(most_keys, kPanel)), value_row(round_up(value_size, kLanes)) {
    const std::size_t fit = kMostScores / HWY_MAX(score_row, 1);
    rows = HWY_MAX(kTileRows, HWY_MIN(fit, kMostRows) / kTileRows * kTileRows);
    const bool padded = value_row != value_size;
    std::size_t at = 0;
    const auto take = [&](std::size_t floats) {
      const std::size_t begin = at;
      at += round_up(floats, 16);
      return begin;
    };
    queries = take(rows * size);
    scores = take(rows * score_row);
    keys = take(score_row * size);
    values = take(padded ? most_keys * value_row : 0);
    results = take(padded ? rows * value_row : 0);
    end = at;
  }
};

class Run {
 public:
  Run(const Attention& attention, Range rows, float* scratch)
      : a_(attention),
        rows_(rows),
        layout_(a_.keys, a_.size, a_.value_size),
        queries_(scratch + layout_.queries),
        scores_(scratch + layout_.scores),
        keys_(scratch + layout_.keys),
        values_(scratch + layout_.values),
        results_(scratch + layout_.results),
        alike_(limit(0) == limit(a_.queries - 1)),
        in_place_(a_.k.row_stride == 1 && rows.end - rows.begin <= kRowsInPlace),
        padded_(layout_.value_row != a_.value_size) {}

  void run() {
    const bool one_head = rows_.begin / a_.queries == (rows_.end - 1) / a_.queries;
    const std::size_t most = limit(one_head ? rows_.end - 1 : a_.queries - 1);
    if (!in_place_)
      for (std::size_t c = 0; c < most; c += kPanel)
        pack_keys(c, HWY_MIN(kPanel, round_up(most - c, kLanes)), kPanel, keys_ + c * a_.size);
    if (padded_) pack_values(most);
    for (std::size_t r = rows_.begin; r < rows_.end;) {
      const std::size_t head_end =
          alike_ ? rows_.end : HWY_MIN(rows_.end, (r / a_.queries + 1) * a_.queries);
      const std::size_t end = HWY_MIN(head_end, r + layout_.rows);
      block({r, end});
      r = end;
    }
  }

 private:
  // The number of keys that causal order lets a row see. Within a block it grows by one per row, or
  // is constant.
  HWY_INLINE std::size_t limit(std::size_t row) const {
    const std::int64_t last = a_.ahead + static_cast<std::int64_t>(row % a_.queries);
    if (last < 0) return 0;
    return HWY_MIN(static_cast<std::size_t>(last) + 1, a_.keys);
  }

  // Packs `width` keys as adjacent columns, from key c on. Beyond the last key, that key is
  // repeated; those columns are never used.
  void pack_keys(std::size_t c, std::size_t width, std::size_t step, float* out) const {
    const auto key = [&](std::size_t j) {
      return a_.k.data + HWY_MIN(j, a_.keys - 1) * a_.k.row_stride;
    };
    if (a_.k.col_stride == 1) {
      const float* pointers[kLanes];
      for (std::size_t j = 0; j < width; j += kLanes) {
        for (std::size_t i = 0; i < kLanes; ++i) pointers[i] = key(c + j + i);
        transpose_strip(pointers, a_.size, out + j, step);
      }
      return;
    }
    const std::size_t whole = HWY_MIN(width, (a_.keys - c) / kLanes * kLanes);
    for (std::size_t d = 0; d < a_.size; ++d) {
      std::size_t j = 0;
      for (; j < whole; j += kLanes)
        store(load(key(c + j) + d * a_.k.col_stride), out + d * step + j);
      for (; j < width; ++j) out[d * step + j] = key(c + j)[d * a_.k.col_stride];
    }
  }

  void pack_values(std::size_t most) const {
    for (std::size_t j = 0; j < most; ++j)
      for (std::size_t e = 0; e < layout_.value_row; e += kLanes) {
        const float* const from = a_.v + j * a_.value_size + e;
        const std::size_t lanes = HWY_MIN(kLanes, a_.value_size - e);
        store(load_some(from, lanes), values_ + j * layout_.value_row + e);
      }
  }

  void block(Range rows) const {
    const V scale = set(a_.scale);
    const std::size_t count = rows.end - rows.begin;
    map_row(a_.q + rows.begin * a_.size, count * a_.size, queries_,
            [&](V q) HWY_ATTR { return hn::Mul(q, scale); });
    make_scores(rows);
    for (std::size_t r = rows.begin; r < rows.end; ++r) mask_scores(r, row_of_scores(rows, r));
    for (std::size_t first = rows.begin; first < rows.end; first += kRowsTogether)
      softmax_rows(HWY_MIN(kRowsTogether, rows.end - first), [&](std::size_t r) {
        float* const scores = row_of_scores(rows, first + r);
        return SoftmaxRow{scores, limit(first + r), scores};
      });
    if (a_.seen != nullptr) {
      const std::uint8_t* const seen = a_.seen;
      for (std::size_t r = rows.begin; r < rows.end; ++r)
        sum_seen(r, row_of_scores(rows, r), [&](std::size_t j) { return seen[j] != 0; });
      return;
    }
    sum_values(rows);
    if (a_.added == nullptr) return;
    // A weight of 0 hides its value, unless that is not finite; and it may change the sign of a 0.
    for (std::size_t r = rows.begin; r < rows.end; ++r)
      if (!are_finite_and_not_zero(a_.out + r * a_.value_size, a_.value_size))
        sum_seen(r, row_of_scores(rows, r),
                 [&](std::size_t j) { return a_.added[j] != -HUGE_VALF; });
  }
  HWY_INLINE float* row_of_scores(Range rows, std::size_t row) const {
    return scores_ + (row - rows.begin) * layout_.score_row;
  }

  // Tile sizes differ by at most one, as a tile of few rows is slow.
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

  // Columns of keys from c on, and how many vectors may be read there.
  struct Columns {
    const float* data;
    std::size_t panel, step, vectors;
  };
  HWY_INLINE Columns columns_of_keys(std::size_t c, std::size_t vectors) const {
    if (!in_place_) return {keys_ + c * a_.size, kPanel * a_.size, kPanel, vectors};
    const std::size_t whole = (a_.keys - c) / kLanes;
    if (whole > 0) return {a_.k.data + c, kPanel, a_.k.col_stride, HWY_MIN(vectors, whole)};
    pack_keys(c, kLanes, kLanes, keys_);
    return {keys_, 0, kLanes, 1};
  }

  void make_scores(Range rows) const {
    const std::size_t most = limit(rows.end - 1);
    const std::size_t tile_rows = HWY_MIN(rows.end - rows.begin, kTileRows);
    std::size_t width = 0;
    for (std::size_t c = 0; c < most; c += width * kLanes) {
      const Columns columns = columns_of_keys(c, (most - c + kLanes - 1) / kLanes);
      width = width_of(tile_rows, columns.vectors);
      for_each_tile(rows, [&](std::size_t row, std::size_t size) HWY_ATTR {
        const std::size_t sight = limit(row + size - 1);
        if (sight <= c) return;
        const std::size_t needed = (sight - c + kLanes - 1) / kLanes;
        const std::size_t used = width > kTileVectors ? width : HWY_MIN(width, needed);
        Part part{};
        part.a_row = a_.size;
        part.b_panel = columns.panel;
        part.b_step = columns.step;
        part.c = row_of_scores(rows, row) + c;
        part.c_row = layout_.score_row;
        std::size_t d = 0;
        do {
          part.k = HWY_MIN(kBlock, a_.size - d);
          part.a = queries_ + (row - rows.begin) * a_.size + d;
          part.b = columns.data + d * columns.step;
          part.next = in_place_ ? part.b + used * kLanes : nullptr;
          part.first = d == 0;
          kTiles.of[size][used](part);
          d += kBlock;
        } while (d < a_.size);
      });
    }
  }

  std::size_t mask_row(std::size_t row) const {
    return (a_.mask_row + row) % a_.mask_rows * a_.keys;
  }

  void mask_scores(std::size_t row, float* scores) const {
    const std::size_t n = limit(row);
    if (a_.added != nullptr) {
      const float* const added = a_.added + mask_row(row);
      for (std::size_t j = 0; j < n; ++j)
        scores[j] = added[j] == -HUGE_VALF ? -HUGE_VALF : scores[j] + added[j];
    }
    // A masked key's weight becomes +0, which changes no sum.
    if (a_.seen != nullptr)
      for (std::size_t j = 0; j < n; ++j)
        if (!a_.seen[mask_row(row) + j]) scores[j] = -HUGE_VALF;
  }

  // Rows without any visible key are zeros.
  void sum_values(Range rows) const {
    const float* const values = padded_ ? values_ : a_.v;
    float* const out = padded_ ? results_ : a_.out + rows.begin * a_.value_size;
    const std::size_t step = padded_ ? layout_.value_row : a_.value_size;
    for (std::size_t r = rows.begin; r < rows.end && limit(r) == 0; ++r)
      __builtin_memset(out + (r - rows.begin) * step, 0, step * sizeof(float));
    const std::size_t most = limit(rows.end - 1);
    for (std::size_t begin = 0; begin < most; begin += kBlock)
      for_each_tile(rows, [&](std::size_t row, std::size_t size) HWY_ATTR {
        for (; size > 0 && limit(row) <= begin; --size) ++row;
        if (size == 0) return;
        std::size_t terms[kTileRows];
        for (std::size_t r = 0; r < size; ++r) terms[r] = HWY_MIN(kBlock, limit(row + r) - begin);
        Part part{};
        part.a = row_of_scores(rows, row) + begin;
        part.a_row = layout_.score_row;
        part.b_panel = kPanel;
        part.b_step = step;
        part.k = terms[0];
        part.c_row = step;
        part.first = begin == 0;
        part.terms = terms[size - 1] == terms[0] ? nullptr : terms;
        std::size_t width = 0;
        for (std::size_t e = 0; e < layout_.value_row; e += width * kLanes) {
          width = width_of(size, (layout_.value_row - e) / kLanes);
          part.b = values + begin * step + e;
          part.next = in_place_ && !padded_ ? part.b + part.k * step : nullptr;
          part.c = out + (row - rows.begin) * step + e;
          kTiles.of[size][width](part);
        }
      });
    if (padded_)
      for (std::size_t r = rows.begin; r < rows.end; ++r)
        __builtin_memcpy(a_.out + r * a_.value_size, out + (r - rows.begin) * step,
                         a_.value_size * sizeof(float));
  }

  // A row whose mask has gaps between its keys: `seen` takes a place in the mask.
  template <class Seen>
  void sum_seen(std::size_t row, const float* weights, const Seen& seen) const {
    const std::size_t n = limit(row), place = mask_row(row);
    const float* const values = padded_ ? values_ : a_.v;
    const std::size_t step = padded_ ? layout_.value_row : a_.value_size;
    for (std::size_t e = 0; e < a_.value_size; e += kLanes) {
      V total = zero();
      for (std::size_t begin = 0; begin < n; begin += kBlock) {
        V sum = zero();
        for (std::size_t j = begin; j < HWY_MIN(begin + kBlock, n); ++j)
          if (seen(place + j)) sum = fma(set(weights[j]), load(values + j * step + e), sum);
        total = hn::Add(total, sum);
      }
      store_some(total, a_.out + row * a_.value_size + e, HWY_MIN(kLanes, a_.value_size - e));
    }
  }

  const Attention& a_;
  const Range rows_;
  const Layout layout_;
  float* const queries_;
  float* const scores_;
  float* const keys_;
  float* const values_;
  float* const results_;
  const bool alike_;  // all rows see as many keys
  const bool in_place_;
  const bool padded_;  // values do not fill whole vectors
};

std::size_t attention_scratch_floats(std::size_t keys, std::size_t size, std::size_t value_size) {
  return Layout(keys, size, value_size).end;
}

// The number of keys that all of these rows see if those are the first ones, as in a text with
// padding after it; else a.keys + 1.
std::size_t first_keys_seen(const Attention& a, Range rows) {
  const auto mask_of = [&](std::size_t row) {
    return a.seen + (a.mask_row + row) % a.mask_rows * a.keys;
  };
  const std::uint8_t* const one = mask_of(rows.begin);
  std::size_t seen = 0;
  while (seen < a.keys && one[seen] != 0) ++seen;
  for (std::size_t j = seen; j < a.keys; ++j)
    if (one[j] != 0) return a.keys + 1;
  for (std::size_t r = rows.begin + 1; r < rows.end; ++r)
    if (mask_of(r) != one && __builtin_memcmp(mask_of(r), one, a.keys) != 0) return a.keys + 1;
  return seen;
}

void attention(const Attention& a, Range rows, float* scratch) {
  if (rows.begin >= rows.end) return;
  if (a.seen != nullptr)
    if (const std::size_t seen = first_keys_seen(a, rows); seen <= a.keys) {
      // The same sums without the others, which add nothing.
      Attention first = a;
      first.keys = seen;
      first.seen = nullptr;
      return Run(first, rows, scratch).run();
    }
  Run(a, rows, scratch).run();
}

}  // namespace

void fill_attention(Kernels& table) {
  table.attention_scratch_floats = attention_scratch_floats;
  table.attention = attention;
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_attention(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_attention(table)) }

}  // namespace limpid::kernels
#endif
