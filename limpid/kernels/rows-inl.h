// Shared by kernels on rows: the 16 partial sums of docs/arithmetic.md ("Products and sums") and
// loops over a row. Included once for every target.
#include "limpid/kernels/math-inl.h"
//
#include "limpid/core/arithmetic.h"

#if defined(LIMPID_KERNELS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_ROWS_INL_H_
#undef LIMPID_KERNELS_ROWS_INL_H_
#else
#define LIMPID_KERNELS_ROWS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

using arithmetic::kPartials;
using arithmetic::kRowBlock;
using arithmetic::kRun;

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
// Calls visit(v, i, lanes) for the vectors of the last n < kPartials values of a row.
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
// Swaps lane i and lane i + half within each group of 2 * half lanes.
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

// Totals of kCount sums, added as a tree while they come in order (arithmetic::Tree).
template <std::size_t kCount>
class TreeOf {
 public:
  // Explicit, as that of Many.
  HWY_INLINE TreeOf() {}
  HWY_INLINE void add(const Many<kCount>& totals) {
    waiting_[depth_] = totals;
    for (std::size_t left = count_++; left % 2 == 1; left /= 2) join();
    ++depth_;
  }
  // Requires that there was a total.
  HWY_INLINE Many<kCount> sums() {
    for (--depth_; depth_ > 0;) join();
    return waiting_[0];
  }

 private:
  // Adds the last one to the one before it.
  HWY_INLINE void join() {
    --depth_;
    waiting_[depth_] = waiting_[depth_] + waiting_[depth_ + 1];
  }

  Many<kCount> waiting_[64];
  std::size_t depth_ = 0;
  std::size_t count_ = 0;
};

// Blocks of `size` elements of [0, n): block(begin, end) gives kCount totals of one; their sums as
// a tree are the result.
template <std::size_t kCount, class Block>
HWY_INLINE Many<kCount> sum_blocks(std::size_t n, std::size_t size, const Block& block) {
  if (n <= size) return block(std::size_t{0}, n);
  TreeOf<kCount> tree;
  for (std::size_t begin = 0; begin < n; begin += size)
    tree.add(block(begin, HWY_MIN(begin + size, n)));
  return tree.sums();
}

// Of a lambda that is called at several places and shall be inlined at each.
#undef LIMPID_INLINED
#define LIMPID_INLINED HWY_ATTR __attribute__((always_inline))

// kCount sums over n elements: run(begin, end) gives the partials of those of [begin, end), at most
// kRun; vector v of sum s is number s * kVectors + v. Without a loop over runs a short row takes
// two thirds of the time.
template <std::size_t kCount, class Run>
HWY_INLINE Many<kCount> sum_partials(std::size_t n, const Run& run) {
  const auto totals_of = [](const Many<kCount * kVectors>& partials) LIMPID_INLINED {
    Many<kCount> totals;
    LIMPID_UNROLL
    for (std::size_t s = 0; s < kCount; ++s) {
      Partials p;
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) p.v[v] = partials.v[s * kVectors + v];
      totals.v[s] = sum_of(p);
    }
    return totals;
  };
  if (n <= kRun) return totals_of(run(0, n));
  return sum_blocks<kCount>(n, kRowBlock, [&](std::size_t begin, std::size_t end) HWY_ATTR {
    Many<kCount * kVectors> partials(0.0f);
    for (; begin < end; begin += kRun) partials = partials + run(begin, HWY_MIN(begin + kRun, end));
    return totals_of(partials);
  });
}

HWY_INLINE V sum_row(const float* in, std::size_t n) {
  const auto run = [in](std::size_t i, std::size_t end) LIMPID_INLINED {
    Partials sum(0.0f);
    for (; i + kPartials <= end; i += kPartials) sum = sum + load_partials(in + i);
    for_each_of_last(end - i, [&](std::size_t v, std::size_t j, std::size_t lanes) HWY_ATTR {
      sum.v[v] = hn::Add(sum.v[v], load_some(in + i + j, lanes));
    });
    return sum;
  };
  return sum_partials<1>(n, run).v[0];
}

struct Highest {
  static HWY_INLINE V start() { return hn::Neg(hn::Inf(F32())); }
  static HWY_INLINE V better(V a, V b) { return maximum(a, b); }
};
struct Lowest {
  static HWY_INLINE V start() { return hn::Inf(F32()); }
  static HWY_INLINE V better(V a, V b) { return minimum(a, b); }
};

// The bits of a maximum or minimum do not depend on the order.
template <class F>
HWY_INLINE V extreme_row(const float* in, std::size_t n) {
  const V start = F::start();
  Partials best(start);
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v)
      best.v[v] = F::better(best.v[v], load(in + i + v * kLanes));
  }
  for_each_of_last(n - i, [&](std::size_t v, std::size_t j, std::size_t lanes) HWY_ATTR {
    const V x = load_some(in + i + j, lanes);
    best.v[v] = F::better(best.v[v], lanes == kLanes ? x : first_lanes(x, lanes, start));
  });
  return fold(best, [](V a, V b) HWY_ATTR { return F::better(a, b); });
}

// out[i] = f(in[i]); `out` may be `in`.
template <class F>
HWY_INLINE void map_row(const float* in, std::size_t n, float* out, const F& f) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(f(load(in + i)), out + i);
  if (i < n) store_n(f(load_n(in + i, n - i)), out + i, n - i);
}

// The sum of exp(in[i] - highest); stores the terms in `out` if kStores.
template <bool kStores>
HWY_INLINE V sum_exponentials(const float* in, std::size_t n, V highest, float* out) {
  const Partials m(highest);
  const auto run = [&](std::size_t i, std::size_t end) LIMPID_INLINED {
    Partials sum(0.0f);
    for (; i + kPartials <= end; i += kPartials) {
      const Partials e = exp(load_partials(in + i) - m);
      if constexpr (kStores) store_partials(e, out + i);
      sum = sum + e;
    }
    for_each_of_last(end - i, [&](std::size_t v, std::size_t j, std::size_t lanes) HWY_ATTR {
      const V e = exp(hn::Sub(load_some(in + i + j, lanes), highest));
      if constexpr (kStores) store_some(e, out + i + j, lanes);
      sum.v[v] = hn::Add(sum.v[v], lanes == kLanes ? e : first_lanes(e, lanes, zero()));
    });
    return sum;
  };
  return sum_partials<1>(n, run).v[0];
}

// The maximum for softmax: the sign of a zero does not matter, and neither does the maximum of a
// row with a NaN, as its sum is NaN.
struct Largest {
  static HWY_INLINE V start() { return Highest::start(); }
  static HWY_INLINE V better(V a, V b) { return hn::Max(a, b); }
};

// Softmax of several rows, stage by stage: a single short row would wait for its maximum, then for
// its sum. Rows of 64 take 0.43 instead of 0.80 ns per element. `out` may be `in`.
constexpr std::size_t kRowsTogether = 8;
// Longer rows would have left the L1 cache before the next stage.
HWY_INLINE std::size_t rows_together(std::size_t columns) {
  return columns <= 2048 ? kRowsTogether : 1;
}
struct SoftmaxRow {
  const float* in;
  std::size_t n;
  float* out;
};
// `row(r)` is the r-th of at most kRowsTogether rows.
template <class Row>
HWY_INLINE void softmax_rows(std::size_t rows, const Row& row) {
  V number[kRowsTogether];
  for (std::size_t r = 0; r < rows; ++r) {
    const auto [in, n, out] = row(r);
    number[r] = extreme_row<Largest>(in, n);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const auto [in, n, out] = row(r);
    number[r] = sum_exponentials<true>(in, n, number[r], out);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const auto [in, n, out] = row(r);
    const V share = hn::Div(set(1.0f), number[r]);
    map_row(out, n, out, [&](V e) HWY_ATTR { return hn::Mul(e, share); });
  }
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
