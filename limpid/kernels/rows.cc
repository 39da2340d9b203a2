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

// The partial sums of a row, partial i in lane i mod kLanes of vector i / kLanes.
constexpr std::size_t kPartialVectors = kPartials / kLanes;
struct Partials {
  V v[kPartialVectors];
};

HWY_INLINE V first_lanes(V v, std::size_t n, V others) {
  return hn::IfThenElse(hn::FirstN(F32(), n), v, others);
}

// Calls visit(partial, i, lanes) for every vector of a row of n, in order: lanes [i, i + lanes) of
// the row are the first lanes of that partial vector.
template <class Visit>
HWY_INLINE void for_each_vector(std::size_t n, const Visit& visit) {
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kPartialVectors; ++v) visit(v, i + v * kLanes, kLanes);
  }
  LIMPID_UNROLL
  for (std::size_t v = 0; v < kPartialVectors; ++v) {
    const std::size_t begin = i + v * kLanes;
    if (begin < n) visit(v, begin, n - begin < kLanes ? n - begin : kLanes);
  }
}

HWY_INLINE Partials no_partials() {
  Partials p;
  LIMPID_UNROLL
  for (std::size_t v = 0; v < kPartialVectors; ++v) p.v[v] = zero();
  return p;
}

// The tree 8, 4, 2, 1.
HWY_INLINE float fold(Partials p) {
  LIMPID_UNROLL
  for (std::size_t half = kPartialVectors / 2; half > 0; half /= 2) {
    LIMPID_UNROLL
    for (std::size_t v = 0; v < half; ++v) p.v[v] = hn::Add(p.v[v], p.v[v + half]);
  }
  alignas(64) float lanes[kLanes];
  store(p.v[0], lanes);
  LIMPID_UNROLL
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    LIMPID_UNROLL
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

HWY_INLINE float sum_row(const float* in, std::size_t n) {
  Partials p = no_partials();
  for_each_vector(n, [&](std::size_t v, std::size_t i, std::size_t lanes) HWY_ATTR {
    p.v[v] = hn::Add(p.v[v], lanes == kLanes ? load(in + i) : load_n(in + i, lanes));
  });
  return fold(p);
}

// The order of a maximum does not show in its bits.
HWY_INLINE float max_row(const float* in, std::size_t n) {
  const V lowest = hn::Neg(hn::Inf(F32()));
  Partials m;
  LIMPID_UNROLL
  for (std::size_t v = 0; v < kPartialVectors; ++v) m.v[v] = lowest;
  for_each_vector(n, [&](std::size_t v, std::size_t i, std::size_t lanes) HWY_ATTR {
    const V x = lanes == kLanes ? load(in + i) : first_lanes(load_n(in + i, lanes), lanes, lowest);
    m.v[v] = maximum(m.v[v], x);
  });
  LIMPID_UNROLL
  for (std::size_t v = 1; v < kPartialVectors; ++v) m.v[0] = maximum(m.v[0], m.v[v]);
  alignas(64) float lanes[kLanes];
  store(m.v[0], lanes);
  float result = lanes[0];
  for (std::size_t i = 1; i < kLanes; ++i) result = arithmetic::maximum(result, lanes[i]);
  return result;
}

void sum_rows(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r) out[r] = sum_row(in + r * columns, columns);
}
void max_rows(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r) out[r] = max_row(in + r * columns, columns);
}

// out[i] = exp(in[i] - highest), and their sum.
HWY_INLINE float exponentials(const float* in, std::size_t n, float highest, float* out) {
  const V m = set(highest);
  Partials p = no_partials();
  for_each_vector(n, [&](std::size_t v, std::size_t i, std::size_t lanes) HWY_ATTR {
    if (lanes == kLanes) {
      const V e = exp(hn::Sub(load(in + i), m));
      store(e, out + i);
      p.v[v] = hn::Add(p.v[v], e);
    } else {
      const V e = exp(hn::Sub(load_n(in + i, lanes), m));
      store_n(e, out + i, lanes);
      p.v[v] = hn::Add(p.v[v], first_lanes(e, lanes, zero()));
    }
  });
  return fold(p);
}

// The sum of exp(in[i] - highest).
HWY_INLINE float sum_of_exponentials(const float* in, std::size_t n, float highest) {
  const V m = set(highest);
  Partials p = no_partials();
  for_each_vector(n, [&](std::size_t v, std::size_t i, std::size_t lanes) HWY_ATTR {
    const V x = lanes == kLanes ? load(in + i) : load_n(in + i, lanes);
    const V e = exp(hn::Sub(x, m));
    p.v[v] = hn::Add(p.v[v], lanes == kLanes ? e : first_lanes(e, lanes, zero()));
  });
  return fold(p);
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
    const V sum = set(exponentials(in, columns, max_row(in, columns), out));
    map_row(out, columns, out, [&](V e) HWY_ATTR { return hn::Div(e, sum); });
  }
}

void log_softmax(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r, in += columns, out += columns) {
    const float highest = max_row(in, columns);
    const V m = set(highest);
    const V log_sum = set(arithmetic::log(sum_of_exponentials(in, columns, highest)));
    map_row(in, columns, out, [&](V x) HWY_ATTR { return hn::Sub(hn::Sub(x, m), log_sum); });
  }
}

// Columns of a matrix in stripes of kStripe vectors, so that a row's cache lines are used whole.
constexpr std::size_t kStripe = 4;

// A stripe of `width` columns; 1 or kStripe vectors of them, the last one perhaps partial.
template <std::size_t kVectors>
struct Stripe {
  const float* in;
  std::size_t rows, stride, last_lanes;

  HWY_INLINE V get(std::size_t row, std::size_t v) const {
    const float* const p = in + row * stride + v * kLanes;
    return v + 1 < kVectors || last_lanes == kLanes ? load(p) : load_n(p, last_lanes);
  }
  HWY_INLINE void put(V x, std::size_t v, float* out) const {
    if (v + 1 < kVectors || last_lanes == kLanes)
      store(x, out + v * kLanes);
    else
      store_n(x, out + v * kLanes, last_lanes);
  }
};

struct SumColumns {
  template <std::size_t kVectors>
  static HWY_INLINE void reduce(const Stripe<kVectors>& stripe, float* out) {
    V total[kVectors];
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) total[v] = zero();
    for (std::size_t begin = 0; begin < stripe.rows; begin += kBlock) {
      const std::size_t end = HWY_MIN(begin + kBlock, stripe.rows);
      V sum[kVectors];
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sum[v] = zero();
      for (std::size_t row = begin; row < end; ++row) {
        LIMPID_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], stripe.get(row, v));
      }
      // A block never sums to -0, so adding the first to +0 changes nothing.
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) total[v] = hn::Add(total[v], sum[v]);
    }
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) stripe.put(total[v], v, out);
  }
};

struct MaxColumns {
  template <std::size_t kVectors>
  static HWY_INLINE void reduce(const Stripe<kVectors>& stripe, float* out) {
    V highest[kVectors];
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) highest[v] = hn::Neg(hn::Inf(F32()));
    for (std::size_t row = 0; row < stripe.rows; ++row) {
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v)
        highest[v] = maximum(highest[v], stripe.get(row, v));
    }
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) stripe.put(highest[v], v, out);
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
