// Reductions, softmax and transposition of row-major matrices.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/rows.cc"
#include "limpid/core/arithmetic.h"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

using arithmetic::kBlock;
using arithmetic::kPartials;

// Vectors of the partial sums of a row: partial i is lane i mod kLanes of vector i / kLanes.
constexpr std::size_t kVectors = kPartials / kLanes;
using Partials = Many<kVectors>;

HWY_INLINE Partials load_partials(const float* in) {
  Partials x;
  LIMPID_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) x.v[v] = load(in + v * kLanes);
  return x;
}
HWY_INLINE void store_partials(const Partials& x, float* out) {
  LIMPID_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) store(x.v[v], out + v * kLanes);
}

HWY_INLINE V first_lanes(V v, std::size_t n, V others) {
  return hn::IfThenElse(hn::FirstN(F32(), n), v, others);
}
// Calls visit(v, i, lanes) for the vectors of the n < kPartials last values of a row.
template <class Visit>
HWY_INLINE void for_each_of_last(std::size_t n, const Visit& visit) {
  LIMPID_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t i = v * kLanes;
    if (i < n) visit(v, i, HWY_MIN(n - i, kLanes));
  }
}
HWY_INLINE V load_some(const float* in, std::size_t lanes) {
  return lanes == kLanes ? load(in) : load_n(in, lanes);
}
HWY_INLINE void store_some(V v, float* out, std::size_t lanes) {
  if (lanes == kLanes)
    store(v, out);
  else
    store_n(v, out, lanes);
}

#if HWY_TARGET != HWY_SCALAR
// Lane i and the lane `half` further, of each 2 * half lanes, in each other's place.
template <std::size_t half>
HWY_INLINE V swap_lanes(V v) {
  const F32 d;
  if constexpr (half == 1) return hn::Shuffle2301(v);
  if constexpr (half == 2) return hn::Shuffle1032(v);
  if constexpr (half == 4) return hn::SwapAdjacentBlocks(v);
  if constexpr (half == 8) return hn::ConcatLowerUpper(d, v, v);
}
#endif
// The tree over the lanes of a vector; its result is in every lane.
template <std::size_t half, class F>
HWY_INLINE V fold_lanes(V v, [[maybe_unused]] const F& f) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (half > 0) return fold_lanes<half / 2>(f(v, swap_lanes<half>(v)), f);
#endif
  return v;
}
// The tree 8, 4, 2, 1.
template <class F>
HWY_INLINE V fold(Partials p, const F& f) {
  LIMPID_UNROLL
  for (std::size_t half = kVectors / 2; half > 0; half /= 2) {
    LIMPID_UNROLL
    for (std::size_t v = 0; v < half; ++v) p.v[v] = f(p.v[v], p.v[v + half]);
  }
  return fold_lanes<kLanes / 2>(p.v[0], f);
}
HWY_INLINE V sum_of(const Partials& p) {
  return fold(p, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
}

HWY_INLINE V sum_row(const float* in, std::size_t n) {
  Partials sum(0.0f);
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) sum = sum + load_partials(in + i);
  for_each_of_last(n - i, [&](std::size_t v, std::size_t j, std::size_t lanes) HWY_ATTR {
    sum.v[v] = hn::Add(sum.v[v], load_some(in + i + j, lanes));
  });
  return sum_of(sum);
}

// The order of a maximum does not show in its bits.
HWY_INLINE V max_row(const float* in, std::size_t n) {
  const V lowest = hn::Neg(hn::Inf(F32()));
  Partials highest(lowest);
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v)
      highest.v[v] = maximum(highest.v[v], load(in + i + v * kLanes));
  }
  for_each_of_last(n - i, [&](std::size_t v, std::size_t j, std::size_t lanes) HWY_ATTR {
    const V x = load_some(in + i + j, lanes);
    highest.v[v] = maximum(highest.v[v], lanes == kLanes ? x : first_lanes(x, lanes, lowest));
  });
  return fold(highest, [](V a, V b) HWY_ATTR { return maximum(a, b); });
}

void sum_rows(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r) out[r] = hn::GetLane(sum_row(in + r * columns, columns));
}
void max_rows(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r) out[r] = hn::GetLane(max_row(in + r * columns, columns));
}

// The sum of exp(in[i] - highest); the terms are left in `out` where kStores.
template <bool kStores>
HWY_INLINE V sum_exponentials(const float* in, std::size_t n, V highest, float* out) {
  const Partials m(highest);
  Partials sum(0.0f);
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    const Partials e = exp(load_partials(in + i) - m);
    if constexpr (kStores) store_partials(e, out + i);
    sum = sum + e;
  }
  for_each_of_last(n - i, [&](std::size_t v, std::size_t j, std::size_t lanes) HWY_ATTR {
    const V e = exp(hn::Sub(load_some(in + i + j, lanes), highest));
    if constexpr (kStores) store_some(e, out + i + j, lanes);
    sum.v[v] = hn::Add(sum.v[v], lanes == kLanes ? e : first_lanes(e, lanes, zero()));
  });
  return sum_of(sum);
}

// out[i] = f(in[i]); `out` may be `in`.
template <class F>
HWY_INLINE void map_row(const float* in, std::size_t n, float* out, const F& f) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(f(load(in + i)), out + i);
  if (i < n) store_n(f(load_n(in + i, n - i)), out + i, n - i);
}

void softmax(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r, in += columns, out += columns) {
    const V sum = sum_exponentials<true>(in, columns, max_row(in, columns), out);
    map_row(out, columns, out, [&](V e) HWY_ATTR { return hn::Div(e, sum); });
  }
}

void log_softmax(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r, in += columns, out += columns) {
    const V m = max_row(in, columns);
    const V sum = sum_exponentials<false>(in, columns, m, nullptr);
    const V log_sum = log(Many<1>(sum)).v[0];
    map_row(in, columns, out, [&](V x) HWY_ATTR { return hn::Sub(hn::Sub(x, m), log_sum); });
  }
}

// Columns of a matrix in stripes of kStripe vectors, so that a row's cache lines are used whole.
constexpr std::size_t kStripe = 4;

// A stripe of `width` columns; 1 or kStripe vectors of them, the last one perhaps partial.
template <std::size_t kWidth>
struct Stripe {
  const float* in;
  std::size_t rows, stride, last_lanes;

  HWY_INLINE V get(std::size_t row, std::size_t v) const {
    const float* const p = in + row * stride + v * kLanes;
    return v + 1 < kWidth || last_lanes == kLanes ? load(p) : load_n(p, last_lanes);
  }
  HWY_INLINE void put(V x, std::size_t v, float* out) const {
    if (v + 1 < kWidth || last_lanes == kLanes)
      store(x, out + v * kLanes);
    else
      store_n(x, out + v * kLanes, last_lanes);
  }
};

struct SumColumns {
  template <std::size_t kWidth>
  static HWY_INLINE void reduce(const Stripe<kWidth>& stripe, float* out) {
    V total[kWidth];
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) total[v] = zero();
    for (std::size_t begin = 0; begin < stripe.rows; begin += kBlock) {
      const std::size_t end = HWY_MIN(begin + kBlock, stripe.rows);
      V sum[kWidth];
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) sum[v] = zero();
      for (std::size_t row = begin; row < end; ++row) {
        LIMPID_UNROLL
        for (std::size_t v = 0; v < kWidth; ++v) sum[v] = hn::Add(sum[v], stripe.get(row, v));
      }
      // A block never sums to -0, so adding the first to +0 changes nothing.
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) total[v] = hn::Add(total[v], sum[v]);
    }
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) stripe.put(total[v], v, out);
  }
};

struct MaxColumns {
  template <std::size_t kWidth>
  static HWY_INLINE void reduce(const Stripe<kWidth>& stripe, float* out) {
    V highest[kWidth];
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) highest[v] = hn::Neg(hn::Inf(F32()));
    for (std::size_t row = 0; row < stripe.rows; ++row) {
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) highest[v] = maximum(highest[v], stripe.get(row, v));
    }
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) stripe.put(highest[v], v, out);
  }
};

template <class Reduction>
void reduce_columns(const float* in, std::size_t rows, std::size_t columns, Range part,
                    float* out) {
  std::size_t c = part.begin;
  for (; c + kStripe * kLanes <= part.end; c += kStripe * kLanes)
    Reduction::reduce(Stripe<kStripe>{in + c, rows, columns, kLanes}, out + c);
  for (; c < part.end; c += kLanes)
    Reduction::reduce(Stripe<1>{in + c, rows, columns, HWY_MIN(kLanes, part.end - c)}, out + c);
}

// A block of columns at a time: a line of `out` is filled while it is in the cache.
constexpr std::size_t kTransposeColumns = 32;

void transpose(const float* in, std::size_t rows, std::size_t columns, float* out) {
  const float* pointers[kLanes];
  for (std::size_t c = 0; c < columns; c += kTransposeColumns) {
    const std::size_t width = HWY_MIN(kTransposeColumns, columns - c);
    std::size_t r = 0;
    for (; r + kLanes <= rows; r += kLanes) {
      for (std::size_t i = 0; i < kLanes; ++i) pointers[i] = in + (r + i) * columns + c;
      transpose_strip(pointers, width, out + c * rows + r, rows);
    }
    for (; r < rows; ++r)
      for (std::size_t i = c; i < c + width; ++i) out[i * rows + r] = in[r * columns + i];
  }
}

void fill_rows(Kernels& table) {
  table.softmax = softmax;
  table.log_softmax = log_softmax;
  table.sum_rows = sum_rows;
  table.max_rows = max_rows;
  table.sum_columns = reduce_columns<SumColumns>;
  table.max_columns = reduce_columns<MaxColumns>;
  table.transpose = transpose;
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_rows(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_rows(table)) }

}  // namespace limpid::kernels
#endif
