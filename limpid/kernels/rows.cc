// Reductions, softmax and transposition of row-major matrices.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/rows.cc"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

using arithmetic::kBlock;

void sum_rows(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r) out[r] = hn::GetLane(sum_row(in + r * columns, columns));
}
template <class F>
void extreme_rows(const float* in, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r)
    out[r] = hn::GetLane(extreme_row<F>(in + r * columns, columns));
}

void softmax(const float* in, std::size_t rows, std::size_t columns, float* out) {
  const std::size_t together = rows_together(columns);
  for (std::size_t first = 0; first < rows; first += together)
    softmax_rows(HWY_MIN(together, rows - first), [&](std::size_t r) {
      return SoftmaxRow{in + (first + r) * columns, columns, out + (first + r) * columns};
    });
}

void log_softmax(const float* in, std::size_t rows, std::size_t columns, float* out) {
  V highest[kRowsTogether], log_sum[kRowsTogether];
  const std::size_t together = rows_together(columns);
  for (std::size_t first = 0; first < rows; first += together) {
    const std::size_t count = HWY_MIN(together, rows - first);
    const auto for_each_row = [&](const auto& visit) HWY_ATTR {
      for (std::size_t r = 0; r < count; ++r) visit(r, in + (first + r) * columns);
    };
    for_each_row([&](std::size_t r, const float* row)
                     HWY_ATTR { highest[r] = extreme_row<Highest>(row, columns); });
    for_each_row([&](std::size_t r, const float* row) HWY_ATTR {
      log_sum[r] = sum_exponentials<false>(row, columns, highest[r], nullptr);
    });
    for (std::size_t r = 0; r < count; ++r) log_sum[r] = log(Many<1>(log_sum[r])).v[0];
    for_each_row([&](std::size_t r, const float* row) HWY_ATTR {
      map_row(row, columns, out + (first + r) * columns,
              [&](V x) HWY_ATTR { return hn::Sub(hn::Sub(x, highest[r]), log_sum[r]); });
    });
  }
}

// Works on stripes of kStripe vectors of columns, so that every cache line of a row is used whole.
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
    const auto block = [&stripe](std::size_t row, std::size_t end) HWY_ATTR {
      Many<kWidth> sum(0.0f);
      for (; row < end; ++row) {
        LIMPID_UNROLL
        for (std::size_t v = 0; v < kWidth; ++v) sum.v[v] = hn::Add(sum.v[v], stripe.get(row, v));
      }
      return sum;
    };
    const Many<kWidth> total = sum_blocks<kWidth>(stripe.rows, kBlock, block);
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) stripe.put(total.v[v], v, out);
  }
};

template <class F>
struct ExtremeColumns {
  template <std::size_t kWidth>
  static HWY_INLINE void reduce(const Stripe<kWidth>& stripe, float* out) {
    V best[kWidth];
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) best[v] = F::start();
    for (std::size_t row = 0; row < stripe.rows; ++row) {
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) best[v] = F::better(best[v], stripe.get(row, v));
    }
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) stripe.put(best[v], v, out);
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

// One block of columns at a time, so that a cache line of `out` is filled while it is in the cache.
constexpr std::size_t kTransposeColumns = 32;

void transpose(const float* in, std::size_t rows, std::size_t columns, Range part, float* out) {
  const float* pointers[kLanes];
  for (std::size_t c = part.begin; c < part.end; c += kTransposeColumns) {
    const std::size_t width = HWY_MIN(kTransposeColumns, part.end - c);
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
  table.max_rows = extreme_rows<Highest>;
  table.min_rows = extreme_rows<Lowest>;
  table.sum_columns = reduce_columns<SumColumns>;
  table.max_columns = reduce_columns<ExtremeColumns<Highest>>;
  table.min_columns = reduce_columns<ExtremeColumns<Lowest>>;
  table.transpose = transpose;
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_rows(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_rows(table)) }

}  // namespace limpid::kernels
#endif
