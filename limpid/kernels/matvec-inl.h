// Matrix-vector products. The matrix is read only once, so packing it would cost more than the
// product. Lanes run over outputs; if there are too few outputs, over the blocks of the sum, whose
// totals are then added in order. Included once for every target.
#include "limpid/core/arithmetic.h"
#include "limpid/kernels/math-inl.h"

#if defined(LIMPID_KERNELS_MATVEC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LIMPID_KERNELS_MATVEC_INL_H_
#undef LIMPID_KERNELS_MATVEC_INL_H_
#else
#define LIMPID_KERNELS_MATVEC_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

using arithmetic::kBlock;

// Input of unused lanes.
alignas(64) inline constexpr float kZeros[kBlock] = {};

// out[j * out_step] = sum over i of w[j * w_row + i] * x[i * x_step], (+ bias[j * bias_step]) (then
// ReLU), for j in [0, outputs).
struct MatVec {
  const float* w;
  std::size_t w_row;
  const float* x;
  std::size_t x_step;
  std::size_t outputs, k;
  float* out;
  std::size_t out_step;
  const float* bias;  // or nullptr
  std::size_t bias_step;
  bool relu;
};

// Number of vectors of sums.
constexpr std::size_t kGroups = 2;
constexpr std::size_t kSums = kGroups * kLanes;

// sums[j] = one block of lane j's sum over row w[j]. Either all lanes share x[0], with stride
// x_step, or lane j has its own contiguous x[j].
template <bool kShared>
HWY_INLINE void add_terms(const float* const* w, const float* const* x, std::size_t x_step,
                          std::size_t k, float* sums) {
  // Terms per cache line: a line of a row is used completely before others evict it.
  constexpr std::size_t kLine = 16;
  V sum[kGroups];
  LIMPID_UNROLL
  for (std::size_t g = 0; g < kGroups; ++g) sum[g] = zero();
  const auto four_terms = [&](std::size_t g, std::size_t i) HWY_ATTR {
    V terms[4], factors[4];
    load_columns(w + g * kLanes, i, terms);
    if constexpr (!kShared) load_columns(x + g * kLanes, i, factors);
    LIMPID_UNROLL
    for (std::size_t t = 0; t < 4; ++t) {
      const V factor = kShared ? set(x[0][(i + t) * x_step]) : factors[t];
      sum[g] = fma(factor, terms[t], sum[g]);
    }
  };
  std::size_t i = 0;
  for (; i + kLine <= k; i += kLine) {
    LIMPID_UNROLL
    for (std::size_t g = 0; g < kGroups; ++g) {
      LIMPID_UNROLL
      for (std::size_t t = 0; t < kLine; t += 4) four_terms(g, i + t);
    }
  }
  for (; i + 4 <= k; i += 4) {
    LIMPID_UNROLL
    for (std::size_t g = 0; g < kGroups; ++g) four_terms(g, i);
  }
  for (; i < k; ++i) {
    LIMPID_UNROLL
    for (std::size_t g = 0; g < kGroups; ++g) {
      const V factor = kShared ? set(x[0][i * x_step]) : load_column(x + g * kLanes, i);
      sum[g] = fma(factor, load_column(w + g * kLanes, i), sum[g]);
    }
  }
  LIMPID_UNROLL
  for (std::size_t g = 0; g < kGroups; ++g) store(sum[g], sums + g * kLanes);
}

HWY_INLINE void finish_output(const MatVec& p, std::size_t j, float y) {
  if (p.bias != nullptr) y += p.bias[j * p.bias_step];
  p.out[j * p.out_step] = p.relu && y <= 0.0f ? 0.0f : y;
}

// Lanes over outputs.
void matvec_by_outputs(const MatVec& p) {
  const float* rows[kSums];
  alignas(64) float totals[kSums], sums[kSums];
  for (std::size_t first = 0; first < p.outputs; first += kSums) {
    const std::size_t count = HWY_MIN(kSums, p.outputs - first);
    for (std::size_t j = 0; j < kSums; ++j) totals[j] = 0.0f;
    for (std::size_t i = 0; i < p.k; i += kBlock) {
      for (std::size_t j = 0; j < kSums; ++j)
        rows[j] = j < count ? p.w + (first + j) * p.w_row + i : kZeros;
      const float* const x = p.x + i * p.x_step;
      add_terms<true>(rows, &x, p.x_step, HWY_MIN(kBlock, p.k - i), sums);
      for (std::size_t j = 0; j < kSums; ++j) totals[j] += sums[j];
    }
    for (std::size_t j = 0; j < count; ++j) finish_output(p, first + j, totals[j]);
  }
}

// Lanes over blocks; x is contiguous.
void matvec_by_blocks(const MatVec& p) {
  const float* rows[kSums];
  const float* factors[kSums];
  alignas(64) float sums[kSums];
  for (std::size_t output = 0; output < p.outputs; ++output) {
    const float* const w = p.w + output * p.w_row;
    float total = 0.0f;
    for (std::size_t i = 0; i < p.k;) {
      const std::size_t whole = HWY_MIN(kSums, (p.k - i) / kBlock);
      const std::size_t blocks = whole == 0 ? 1 : whole;
      for (std::size_t j = 0; j < kSums; ++j) {
        rows[j] = j < blocks ? w + i + j * kBlock : kZeros;
        factors[j] = j < blocks ? p.x + i + j * kBlock : kZeros;
      }
      const std::size_t length = whole == 0 ? p.k - i : kBlock;
      add_terms<false>(rows, factors, 1, length, sums);
      for (std::size_t j = 0; j < blocks; ++j) total += sums[j];
      i += blocks * length;
    }
    finish_output(p, output, total);
  }
}

void matvec(const MatVec& p) {
  const bool few = p.outputs <= kLanes && p.k >= 4 * kBlock;
  few&& p.x_step == 1 ? matvec_by_blocks(p) : matvec_by_outputs(p);
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
