// Convolutions as products with patches, packed panel by panel: docs/arithmetic.md, "Convolutions".
// Lanes run over positions, which are contiguous in the images and in the result. Padding is packed
// as zeros and takes part. Included once for every target, by matmul.cc, whose tiles it shares.
#include "limpid/kernels/tile-inl.h"

#if defined(LIMPID_KERNELS_CONV_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_CONV_INL_H_
#undef LIMPID_KERNELS_CONV_INL_H_
#else
#define LIMPID_KERNELS_CONV_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

// Columns of B packed at a time: a block of the sum takes half of a second-level cache or less.
constexpr std::size_t kConvColumns = HWY_MAX(4 * kPanel, 128);
static_assert(kConvColumns % kPanel == 0);
// Rows that share them, and rows whose block is multiplied with all of them before the next.
constexpr std::size_t kConvRows = 480, kConvNearRows = 96;
// Rows and columns of the gradient of a weight that share packed blocks of positions.
constexpr std::size_t kGradientRows = 144, kGradientColumns = 128;
static_assert(kGradientColumns % kPanel == 0);
// Floats between packed rows of patches: whole vectors, but no power of two.
constexpr std::size_t kPackedRow = kBlock + 16;

// ---- patches

// Fills lanes [begin, end) of the vector at `to` from `from` on, which is where lane 0 would be.
struct Piece {
  enum Kind : std::uint8_t {
    kWhole,
    kZero,
    kFirst,
    kMore
  } kind;  // kMore: of a vector begun before
  std::uint8_t begin, end;
  std::uint32_t to;
  std::ptrdiff_t from;
};
// Each position may be a piece of its own, and each vector may need zeros.
constexpr std::size_t kMostPieces = kBlock + kBlock / kLanes + 1;

struct Position {
  std::size_t image, z, y, x;
};
HWY_INLINE Position position_of(const Patches& p, std::size_t column) {
  const std::size_t row = column / p.out[2], plane = row / p.out[1];
  return {plane / p.out[0], plane % p.out[0], row % p.out[1], column % p.out[2]};
}

// The index that a position reads in a dimension, or -1.
HWY_INLINE std::ptrdiff_t inside(const Patches& p, std::size_t d, std::size_t position,
                                 std::size_t tap) {
  const std::ptrdiff_t i = p.first[d] + static_cast<std::ptrdiff_t>(position) * p.step[d] +
                           static_cast<std::ptrdiff_t>(tap) * p.tap_step[d];
  return i < static_cast<std::ptrdiff_t>(p.in[d]) ? i : -1;
}

// Lanes [begin, end) of a vector, lane i from[i * step]; the others are 0.
HWY_INLINE V strided_lanes(const float* from, std::ptrdiff_t step, std::size_t begin,
                           std::size_t end) {
  alignas(64) float lanes[kLanes] = {};
  for (std::size_t i = begin; i < end; ++i) lanes[i] = from[static_cast<std::ptrdiff_t>(i) * step];
  return load(lanes);
}
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
HWY_INLINE V masked(const float* from, std::size_t begin, std::size_t end) {
  const F32 d;
  return hn::MaskedLoad(hn::AndNot(hn::FirstN(d, begin), hn::FirstN(d, end)), d, from);
}
HWY_INLINE V dense_lanes(const float* from, std::size_t begin, std::size_t end) {
  return masked(from, begin, end);
}
// Every second element.
HWY_INLINE V even_lanes(const float* from, std::size_t begin, std::size_t end) {
  if (begin >= end) return zero();
  // Two vectors, without the elements before the first and after the last.
  const auto within = [](std::size_t n, std::size_t at) {
    return n < at ? 0 : HWY_MIN(n - at, kLanes);
  };
  const std::size_t first = 2 * begin, past = 2 * end - 1;
  return hn::ConcatEven(F32(), masked(from + kLanes, within(first, kLanes), within(past, kLanes)),
                        masked(from, within(first, 0), within(past, 0)));
}
HWY_INLINE V all_even_lanes(const float* from) {
  return hn::ConcatEven(F32(), masked(from + kLanes, 0, kLanes - 1), load(from));
}
#else
HWY_INLINE V dense_lanes(const float* from, std::size_t begin, std::size_t end) {
  return strided_lanes(from, 1, begin, end);
}
HWY_INLINE V even_lanes(const float* from, std::size_t begin, std::size_t end) {
  return strided_lanes(from, 2, begin, end);
}
HWY_INLINE V all_even_lanes(const float* from) { return strided_lanes(from, 2, 0, kLanes); }
#endif

// What a tap reads at consecutive columns of patches, as pieces that every channel shares. They
// fill whole vectors.
class Pieces {
 public:
  // Column i is at i / panel * panel_step + i % panel.
  Pieces(std::size_t panel, std::size_t panel_step) : panel_(panel), panel_step_(panel_step) {}

  // `columns` are at most kBlock.
  HWY_INLINE void find(const Patches& p, std::size_t tap, Range columns) {
    count_ = 0;
    filled_ = 0;
    const std::size_t ty = tap / p.taps[2] % p.taps[1], tz = tap / (p.taps[2] * p.taps[1]);
    const std::ptrdiff_t x_step = p.step[2];
    const std::ptrdiff_t x_first =
        p.first[2] + static_cast<std::ptrdiff_t>(tap % p.taps[2]) * p.tap_step[2];
    auto [image, z, y, x] = position_of(p, columns.begin);
    for (std::size_t at = 0, end = columns.end - columns.begin; at < end;) {
      const std::size_t length = HWY_MIN(p.out[2] - x, end - at);
      const std::ptrdiff_t iz = inside(p, 0, z, tz), iy = inside(p, 1, y, ty);
      if (iz < 0 || iy < 0) {
        zeros(at + length);
      } else {
        // The positions that read inside of the row.
        const std::size_t begin = x_first >= 0 ? 0 : up(-x_first, x_step);
        const std::size_t past = static_cast<std::ptrdiff_t>(p.in[2]) > x_first
                                     ? up(static_cast<std::ptrdiff_t>(p.in[2]) - x_first, x_step)
                                     : 0;
        const std::size_t first = HWY_MIN(HWY_MAX(begin, x), x + length);
        const std::size_t last = HWY_MAX(HWY_MIN(past, x + length), first);
        zeros(at + first - x);
        const std::ptrdiff_t row =
            static_cast<std::ptrdiff_t>(image * p.image_step) +
            (iz * static_cast<std::ptrdiff_t>(p.in[1]) + iy) * static_cast<std::ptrdiff_t>(p.in[2]);
        copies(at + last - x, row + x_first + static_cast<std::ptrdiff_t>(first) * x_step, x_step);
        zeros(at + length);
      }
      at += length;
      x = 0;
      if (++y < p.out[1]) continue;
      y = 0;
      if (++z < p.out[0]) continue;
      z = 0;
      ++image;
    }
  }

  // Writes the columns of a channel.
  template <std::ptrdiff_t kStep>  // of the positions; 0: x_step
  HWY_INLINE void write(const float* channel, std::ptrdiff_t x_step, float* out) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const Piece& piece = pieces_[i];
      float* const to = out + piece.to;
      if (piece.kind == Piece::kZero) {
        store(zero(), to);
        continue;
      }
      const float* const from = channel + piece.from;
      V v;
      if constexpr (kStep == 1)
        v = piece.kind == Piece::kWhole ? load(from) : dense_lanes(from, piece.begin, piece.end);
      else if constexpr (kStep == 2)
        v = piece.kind == Piece::kWhole ? all_even_lanes(from)
                                        : even_lanes(from, piece.begin, piece.end);
      else
        v = strided_lanes(from, x_step, piece.begin, piece.end);
      store(piece.kind == Piece::kMore ? hn::Or(load(to), v) : v, to);
    }
  }

 private:
  // ceil(a / b) for a > 0.
  HWY_INLINE static std::size_t up(std::ptrdiff_t a, std::ptrdiff_t b) {
    return static_cast<std::size_t>((a + b - 1) / b);
  }
  HWY_INLINE void zeros(std::size_t end) {
    // The rest of a vector that was begun is zero already.
    if (filled_ % kLanes != 0) filled_ = HWY_MIN(end, round_up(filled_, kLanes));
    for (; filled_ < end; filled_ = HWY_MIN(end, filled_ + kLanes))
      add({Piece::kZero, 0, 0, place(filled_), 0});
  }
  HWY_INLINE void copies(std::size_t end, std::ptrdiff_t from, std::ptrdiff_t step) {
    while (filled_ < end) {
      const std::size_t lane = filled_ % kLanes;
      const std::size_t past = HWY_MIN(kLanes, lane + end - filled_);
      const bool more = lane != 0;
      const Piece::Kind kind = more ? Piece::kMore : past == kLanes ? Piece::kWhole : Piece::kFirst;
      add({kind, static_cast<std::uint8_t>(lane), static_cast<std::uint8_t>(past),
           place(filled_ - lane), from - static_cast<std::ptrdiff_t>(lane) * step});
      from += static_cast<std::ptrdiff_t>(past - lane) * step;
      filled_ += past - lane;
    }
  }
  HWY_INLINE std::uint32_t place(std::size_t column) const {
    return static_cast<std::uint32_t>(column / panel_ * panel_step_ + column % panel_);
  }
  HWY_INLINE void add(const Piece& piece) { pieces_[count_++] = piece; }

  std::size_t panel_, panel_step_;
  Piece pieces_[kMostPieces];
  std::size_t count_ = 0;
  std::size_t filled_ = 0;  // columns
};

template <std::ptrdiff_t kStep>
HWY_INLINE void pack_steps(const Patches& p, Range terms, Range columns, Pieces& pieces,
                           std::size_t step, float* out) {
  const std::size_t taps = p.taps[0] * p.taps[1] * p.taps[2];
  for (std::size_t tap = 0; tap < taps; ++tap) {
    // The first term from terms.begin on with this tap.
    std::size_t term = terms.begin / taps * taps + tap;
    if (term < terms.begin) term += taps;
    if (term >= terms.end) continue;
    pieces.find(p, tap, columns);
    for (; term < terms.end; term += taps)
      pieces.write<kStep>(p.x + term / taps * p.channel_step, p.step[2],
                          out + (term - terms.begin) * step);
  }
}
// Packs rows `terms` of the patches in `columns`: out[row * step], columns as of `pieces`.
HWY_NOINLINE void pack_patches(const Patches& p, Range terms, Range columns, Pieces& pieces,
                               std::size_t step, float* out) {
  if (p.step[2] == 1)
    pack_steps<1>(p, terms, columns, pieces, step, out);
  else if (p.step[2] == 2)
    pack_steps<2>(p, terms, columns, pieces, step, out);
  else
    pack_steps<0>(p, terms, columns, pieces, step, out);
}

// ---- convolution

// Where a column is in the result, without its row.
HWY_INLINE std::size_t c_offset(const Conv& conv, std::size_t column) {
  const Position at = position_of(conv.b, column);
  return at.image * conv.c_image_step + at.z * conv.c_step[0] + at.y * conv.c_step[1] +
         at.x * conv.c_step[2];
}

HWY_NOINLINE void scatter(const Conv& conv, Range rows, Range columns, const float* from) {
  for (std::size_t c = columns.begin; c < columns.end;) {
    const std::size_t length =
        HWY_MIN(conv.b.out[2] - c % conv.b.out[2], columns.end - c);  // in a row of positions
    const std::size_t offset = c_offset(conv, c);
    for (std::size_t r = rows.begin; r < rows.end; ++r) {
      float* const to = conv.c + r * conv.c_row_stride + offset;
      const float* const values = from + (r - rows.begin) * kConvColumns + (c - columns.begin);
      for (std::size_t i = 0; i < length; ++i) to[i * conv.c_step[2]] = values[i];
    }
    c += length;
  }
}

// Few rows do not pay for packing: each vector of positions reads its taps from the image.
constexpr std::size_t kUnpackedRows = 2;
HWY_INLINE bool is_unpacked(const Conv& conv, Range rows) {
  return rows.end - rows.begin <= kUnpackedRows && conv.k <= kBlock && conv.block_ends == nullptr &&
         conv.b.step[2] <= 2;
}

// The elements of a row of an image that a vector of positions reads, the first at `start`.
template <std::ptrdiff_t kStep>
HWY_INLINE V read_row(const float* row, std::ptrdiff_t start, std::ptrdiff_t size) {
  constexpr std::ptrdiff_t kCount = kLanes;
  const float* const from = row + start;
  if (start >= 0 && start + kStep * (kCount - 1) < size)
    return kStep == 1 ? load(from) : all_even_lanes(from);
  const auto lane_at = [&](std::ptrdiff_t element) {  // the first lane that reads it or a later one
    const std::ptrdiff_t lane = (element - start + kStep - 1) / kStep;
    return static_cast<std::size_t>(HWY_MAX(std::ptrdiff_t{0}, HWY_MIN(lane, kCount)));
  };
  const std::size_t begin = start >= 0 ? 0 : lane_at(0), end = start >= size ? 0 : lane_at(size);
  return kStep == 1 ? dense_lanes(from, begin, end) : even_lanes(from, begin, end);
}

template <std::ptrdiff_t kStep>
HWY_INLINE V unpacked_sum(const Conv& conv, const float* w, const Position& at, std::size_t x) {
  const Patches& p = conv.b;
  V sum = zero();
  for (const float *end = w + conv.k, *image = p.x + at.image * p.image_step; w != end;
       image += p.channel_step)
    for (std::size_t tz = 0; tz < p.taps[0]; ++tz) {
      const std::ptrdiff_t iz = inside(p, 0, at.z, tz);
      for (std::size_t ty = 0; ty < p.taps[1]; ++ty) {
        const std::ptrdiff_t iy = inside(p, 1, at.y, ty);
        const bool outside = iz < 0 || iy < 0;
        const float* const row = outside
                                     ? image
                                     : image + (iz * static_cast<std::ptrdiff_t>(p.in[1]) + iy) *
                                                   static_cast<std::ptrdiff_t>(p.in[2]);
        const auto size = outside ? 0 : static_cast<std::ptrdiff_t>(p.in[2]);
        std::ptrdiff_t start = static_cast<std::ptrdiff_t>(x) * kStep + p.first[2];
        for (std::size_t tx = 0; tx < p.taps[2]; ++tx, start += p.tap_step[2])
          sum = fma(read_row<kStep>(row, start, size), set(*w++), sum);
      }
    }
  return sum;
}

template <std::ptrdiff_t kStep>
HWY_INLINE void unpacked_columns(const Conv& conv, Range rows, Range columns) {
  for (std::size_t c = columns.begin; c < columns.end;) {
    const Position at = position_of(conv.b, c);
    const std::size_t length = HWY_MIN(conv.b.out[2] - at.x, columns.end - c);
    for (std::size_t r = rows.begin; r < rows.end; ++r) {
      float* const to = conv.c + r * conv.c_row_stride + c_offset(conv, c);
      for (std::size_t i = 0; i < length; i += kLanes) {
        V y = hn::Add(zero(), unpacked_sum<kStep>(conv, conv.a + r * conv.k, at, at.x + i));
        if (conv.bias != nullptr) y = hn::Add(y, set(conv.bias[r]));
        if (conv.relu) y = relu(y);
        if (i + kLanes <= length)
          store(y, to + i);
        else
          store_n(y, to + i, length - i);
      }
    }
    c += length;
  }
}
HWY_NOINLINE void unpacked(const Conv& conv, Range rows, Range columns) {
  if (conv.b.step[2] == 1)
    unpacked_columns<1>(conv, rows, columns);
  else
    unpacked_columns<2>(conv, rows, columns);
}

void conv(const Conv& conv, Range rows, Range columns, float* scratch) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return;
  if (is_unpacked(conv, rows)) return unpacked(conv, rows, columns);
  const std::size_t count = columns.end - columns.begin;
  const auto& out = conv.b.out;
  const std::size_t positions = out[0] * out[1] * out[2];
  const bool dense = conv.c_step[2] == 1 && conv.c_step[1] == out[2] &&
                     conv.c_step[0] == out[1] * out[2] &&
                     columns.begin / positions == (columns.end - 1) / positions;
  float* const packed = scratch;
  float* const apart = scratch + kBlock * kConvColumns;
  Part part{};
  part.c_row = dense ? conv.c_row_stride : kConvColumns;
  float* const c =
      dense ? conv.c + rows.begin * conv.c_row_stride + c_offset(conv, columns.begin) : apart;
  part.a_stride = conv.k;
  part.b_step = kPanel;
  part.b_panel = kPanel * kBlock;
  Pieces pieces(kPanel, part.b_panel);
  std::size_t begin = 0;
  for (std::size_t block = 0; block == 0 || begin < conv.k; ++block) {
    const std::size_t end =
        conv.block_ends != nullptr ? conv.block_ends[block] : HWY_MIN(begin + kBlock, conv.k);
    part.k = end - begin;
    part.first = block == 0;
    const bool last = end == conv.k;
    part.relu = last && conv.relu;
    pack_patches(conv.b, {begin, end}, columns, pieces, kPanel, packed);
    for (std::size_t r = rows.begin; r < rows.end; r += kConvNearRows) {
      const Range near{r, HWY_MIN(r + kConvNearRows, rows.end)};
      std::size_t width = 0;
      for (std::size_t column = 0; column < count; column += width * kLanes) {
        width = width_of(near.end - near.begin, count - column);
        part.b = packed + column * kBlock;
        part.columns = HWY_MIN(width * kLanes, count - column);
        for_each_tile(near, [&](std::size_t row, std::size_t size) HWY_ATTR {
          part.a = conv.a + row * conv.k + begin;
          part.c = c + (row - rows.begin) * part.c_row + column;
          part.row_bias = last && conv.bias != nullptr ? conv.bias + row : nullptr;
          kRowKernels.of[size].tiles[kRowMajor][width](part);
        });
      }
    }
    begin = end;
  }
  if (!dense) scatter(conv, rows, columns, apart);
}

// ---- the gradient of a weight

// Copies terms [begin, begin + count) of rows of A: out[row * kBlock].
HWY_NOINLINE void gather_rows(const ConvWeightGradient& g, std::size_t positions, Range rows,
                              std::size_t begin, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count;) {
    const std::size_t position = (begin + i) % positions;
    const std::size_t length = HWY_MIN(positions - position, count - i);
    const float* const from = g.a + (begin + i) / positions * g.a_image_step + position;
    for (std::size_t r = rows.begin; r < rows.end; ++r)
      __builtin_memcpy(out + (r - rows.begin) * kBlock + i, from + r * g.a_row_stride,
                       length * sizeof(float));
    i += length;
  }
}

void conv_weight_gradient(const ConvWeightGradient& g, Range rows, Range columns, float* scratch) {
  const std::size_t positions = g.b.out[0] * g.b.out[1] * g.b.out[2];
  const std::size_t k = g.images * positions;
  float* const a = scratch;
  float* const patches = a + kGradientRows * kBlock;
  float* const packed = patches + kGradientColumns * kPackedRow;
  Part part{};
  part.a_stride = kBlock;
  part.c_row = g.c_row_stride;
  Pieces pieces(kPackedRow, 0);
  for (std::size_t c0 = columns.begin; c0 < columns.end; c0 += kGradientColumns)
    for (std::size_t r0 = rows.begin; r0 < rows.end; r0 += kGradientRows) {
      const Range some_columns{c0, HWY_MIN(c0 + kGradientColumns, columns.end)};
      const Range some_rows{r0, HWY_MIN(r0 + kGradientRows, rows.end)};
      std::size_t begin = 0;
      do {
        part.k = HWY_MIN(kBlock, k - begin);
        part.first = begin == 0;
        gather_rows(g, positions, some_rows, begin, part.k, a);
        pack_patches(g.b, some_columns, {begin, begin + part.k}, pieces, kPackedRow, patches);
        const Matrix transposed{patches, 1, kPackedRow};
        for (std::size_t c = some_columns.begin; c < some_columns.end; c += kPanel) {
          const std::size_t width = HWY_MIN(kPanel, some_columns.end - c);
          part.b_step = round_up(width, kLanes);
          part.b = packed;
          part.columns = width;
          pack_panel(transposed, 0, part.k, c - c0, width, part.b_step, packed);
          for_each_tile(some_rows, [&](std::size_t row, std::size_t size) HWY_ATTR {
            part.a = a + (row - r0) * kBlock;
            part.c = g.c + row * g.c_row_stride + c;
            kRowKernels.of[size].tiles[kRowMajor][part.b_step / kLanes](part);
          });
        }
        begin += part.k;
      } while (begin < k);
    }
}

void fill_conv(Kernels& table) {
  table.conv_rows = kConvRows;
  table.conv_columns = kConvColumns;
  table.conv_scratch_floats = (kBlock + kConvRows) * kConvColumns + kLanes;
  table.conv_weight_gradient_scratch_floats =
      kGradientRows * kBlock + kGradientColumns * kPackedRow + kPanel * kBlock + kLanes;
  table.conv = conv;
  table.conv_weight_gradient = conv_weight_gradient;
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
