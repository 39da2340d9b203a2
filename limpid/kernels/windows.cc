// Reductions of windows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/windows.cc"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

using arithmetic::kBlock;

// Lanes that are `step` elements apart.
class Stepped {
 public:
  explicit Stepped(std::size_t step)
      : step_(step), index_(hn::Mul(hn::Iota(I32(), 0), hn::Set(I32(), at_most_i32(step)))) {}

  HWY_INLINE V load_all(const float* from) const {
    if (step_ == 1) return load(from);
    if (step_ <= kMostStep) return hn::GatherIndex(F32(), from, index_);
    return load_some(from, kLanes);
  }
  HWY_INLINE V load_some(const float* from, std::size_t n) const {
    alignas(64) float lanes[kLanes] = {};
    for (std::size_t i = 0; i < n; ++i) lanes[i] = from[i * step_];
    return load(lanes);
  }

 private:
  static constexpr std::size_t kMostStep = (std::size_t{1} << 31) / 16 - 1;
  static std::int32_t at_most_i32(std::size_t step) {
    return static_cast<std::int32_t>(step <= kMostStep ? step : 1);
  }

  std::size_t step_;
  VI index_;
};

HWY_INLINE void store_stepped(V v, float* to, std::size_t step, std::size_t n) {
  if (step == 1) {
    if (n == kLanes)
      store(v, to);
    else
      store_n(v, to, n);
    return;
  }
  alignas(64) float lanes[kLanes];
  store(v, lanes);
  for (std::size_t i = 0; i < n; ++i) to[i * step] = lanes[i];
}

// Calls reduce(get) for vectors of results, kTogether at once where there are so many: get(t, v) is
// element t of the windows of vector v.
constexpr std::size_t kTogether = 4;

template <class Reduce>
HWY_INLINE void for_each_vector(const WindowRun& run, const Reduce& reduce) {
  const Stepped stepped(run.step);
  std::size_t i = 0;
  for (; i + kTogether * kLanes <= run.count; i += kTogether * kLanes)
    reduce(Many<kTogether>(), i, kLanes, [&](std::size_t t, std::size_t v) HWY_ATTR {
      return stepped.load_all(run.x + run.taps[t] + (i + v * kLanes) * run.step);
    });
  for (; i + kLanes <= run.count; i += kLanes)
    reduce(Many<1>(), i, kLanes, [&](std::size_t t, std::size_t) HWY_ATTR {
      return stepped.load_all(run.x + run.taps[t] + i * run.step);
    });
  if (const std::size_t n = run.count - i; n > 0)
    reduce(Many<1>(), i, n, [&](std::size_t t, std::size_t) HWY_ATTR {
      return stepped.load_some(run.x + run.taps[t] + i * run.step, n);
    });
}

template <std::size_t kCount>
HWY_INLINE void store_results(const Many<kCount>& results, const WindowRun& run, std::size_t i,
                              std::size_t n, float* out) {
  LIMPID_UNROLL
  for (std::size_t v = 0; v < kCount; ++v)
    store_stepped(results.v[v], out + (i + v * kLanes) * run.out_step, run.out_step, n);
}

void sum_windows(const WindowRun& run, float* out) {
  for_each_vector(run, [&]<std::size_t kCount>(Many<kCount>, std::size_t i, std::size_t n,
                                               const auto& get) HWY_ATTR {
    const auto block = [&](std::size_t t, std::size_t end) HWY_ATTR {
      Many<kCount> sum(0.0f);
      for (; t < end; ++t) {
        LIMPID_UNROLL
        for (std::size_t v = 0; v < kCount; ++v) sum.v[v] = hn::Add(sum.v[v], get(t, v));
      }
      return sum;
    };
    store_results(sum_blocks<kCount>(run.elements, kBlock, block), run, i, n, out);
  });
}

void max_windows(const WindowRun& run, float* out) {
  for_each_vector(run, [&]<std::size_t kCount>(Many<kCount>, std::size_t i, std::size_t n,
                                               const auto& get) HWY_ATTR {
    Many<kCount> best(Highest::start());
    for (std::size_t t = 0; t < run.elements; ++t) {
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kCount; ++v) best.v[v] = Highest::better(best.v[v], get(t, v));
    }
    store_results(best, run, i, n, out);
  });
}

// A NaN is larger than a number, and not than another NaN.
void argmax_windows(const WindowRun& run, std::size_t place_step, std::int32_t* out) {
  for_each_vector(run, [&]<std::size_t kCount>(Many<kCount>, std::size_t i, std::size_t n,
                                               const auto& get) HWY_ATTR {
    V best[kCount];
    VI tap[kCount];
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kCount; ++v) {
      best[v] = run.elements == 0 ? zero() : get(0, v);
      tap[v] = hn::Set(I32(), run.elements == 0 ? -1 : 0);
    }
    for (std::size_t t = 1; t < run.elements; ++t) {
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kCount; ++v) {
        const V x = get(t, v);
        const auto takes = hn::And(hn::Eq(best[v], best[v]), hn::Not(hn::Le(x, best[v])));
        best[v] = hn::IfThenElse(takes, x, best[v]);
        tap[v] = hn::IfThenElse(hn::RebindMask(I32(), takes),
                                hn::Set(I32(), static_cast<std::int32_t>(t)), tap[v]);
      }
    }
    alignas(64) std::int32_t taps[kLanes];
    for (std::size_t v = 0; v < kCount; ++v) {
      store(tap[v], I32(), taps);
      for (std::size_t lane = 0; lane < n; ++lane) {
        const std::size_t result = i + v * kLanes + lane;
        out[result * run.out_step] =
            taps[lane] < 0
                ? -1
                : static_cast<std::int32_t>(run.taps[taps[lane]] +
                                            static_cast<std::int64_t>(result * place_step));
      }
    }
  });
}

void fill_windows(Kernels& table) {
  table.sum_windows = sum_windows;
  table.max_windows = max_windows;
  table.argmax_windows = argmax_windows;
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_windows(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_windows(table)) }

}  // namespace limpid::kernels
#endif
