// Normalisation of rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/norms.cc"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

// The sums of term(r, x) over the elements x of kRows rows. Several rows at once hide the latency
// of the additions.
template <std::size_t kRows, class Term>
HWY_INLINE void sum_terms(const float* in, std::size_t n, const Term& term, V (&sums)[kRows]) {
  Partials partials[kRows];
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) partials[r] = Partials(0.0f);
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const Partials x = load_partials(in + r * n + i);
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v)
        partials[r].v[v] = hn::Add(partials[r].v[v], term(r, x.v[v]));
    }
  }
  for_each_of_last(n - i, [&](std::size_t v, std::size_t j, std::size_t lanes) HWY_ATTR {
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const V t = term(r, load_some(in + r * n + i + j, lanes));
      partials[r].v[v] =
          hn::Add(partials[r].v[v], lanes == kLanes ? t : first_lanes(t, lanes, zero()));
    }
  });
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) sums[r] = sum_of(partials[r]);
}

// 1 / root of (sum / n + eps), in every lane.
HWY_INLINE V inverse_root(V sum, V n, float eps) {
  return hn::Div(set(1.0f), hn::Sqrt(hn::Add(hn::Div(sum, n), set(eps))));
}

// out[i] = ((in[i] - mean) * scale) * gamma[i] + beta[i], where a missing gamma or beta is left
// out.
template <bool kGamma, bool kBeta>
HWY_INLINE void scale_row(const float* in, std::size_t n, V mean, V scale, const float* gamma,
                          const float* beta, const Results& results, float* out) {
  const auto scaled = [&](std::size_t i, std::size_t lanes) HWY_ATTR {
    V y = hn::Mul(hn::Sub(load_some(in + i, lanes), mean), scale);
    if constexpr (kGamma) y = hn::Mul(y, load_some(gamma + i, lanes));
    if constexpr (kBeta) y = hn::Add(y, load_some(beta + i, lanes));
    return y;
  };
  std::size_t i = results.lanes_before(out, n);
  if (i > 0) store_n(scaled(0, i), out, i);
  for (; i + kLanes <= n; i += kLanes) results.put(scaled(i, kLanes), F32(), out + i);
  if (i < n) store_n(scaled(i, n - i), out + i, n - i);
}

HWY_INLINE void scale_row(const float* in, std::size_t n, V mean, V scale, const float* gamma,
                          const float* beta, const Results& results, float* out) {
  if (gamma && beta)
    scale_row<true, true>(in, n, mean, scale, gamma, beta, results, out);
  else if (gamma)
    scale_row<true, false>(in, n, mean, scale, gamma, beta, results, out);
  else
    scale_row<false, false>(in, n, mean, scale, gamma, beta, results, out);
}

// The mean of each row, +0 without kCentered, and one over the root of the mean square about it.
template <bool kCentered, std::size_t kRows>
HWY_INLINE void mean_and_scale(const float* in, std::size_t columns, float eps, V (&mean)[kRows],
                               V (&scale)[kRows]) {
  const V n = set(static_cast<float>(columns));
  if constexpr (kCentered)
    sum_terms(
        in, columns, [](std::size_t, V x) HWY_ATTR { return x; }, mean);
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) mean[r] = kCentered ? hn::Div(mean[r], n) : zero();
  sum_terms(
      in, columns,
      [&mean](std::size_t r, V x) HWY_ATTR {
        // Subtracting +0 changes no number.
        const V c = hn::Sub(x, mean[r]);
        return hn::Mul(c, c);
      },
      scale);
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) scale[r] = inverse_root(scale[r], n, eps);
}

template <bool kCentered, std::size_t kRows>
HWY_INLINE void norm_rows(const float* in, std::size_t columns, float eps, const float* gamma,
                          const float* beta, const Results& results, float* out) {
  V mean[kRows], scale[kRows];
  mean_and_scale<kCentered>(in, columns, eps, mean, scale);
  for (std::size_t r = 0; r < kRows; ++r)
    scale_row(in + r * columns, columns, mean[r], scale[r], gamma, beta, results,
              out + r * columns);
}

constexpr std::size_t kNormRows = 4;

template <bool kCentered>
HWY_INLINE void norm(const float* in, std::size_t rows, std::size_t columns, float eps,
                     const float* gamma, const float* beta, float* out) {
  const Results results(out, rows * columns);
  std::size_t r = 0;
  for (; r + kNormRows <= rows; r += kNormRows)
    norm_rows<kCentered, kNormRows>(in + r * columns, columns, eps, gamma, beta, results,
                                    out + r * columns);
  for (; r < rows; ++r)
    norm_rows<kCentered, 1>(in + r * columns, columns, eps, gamma, beta, results,
                            out + r * columns);
}

void layer_norm(const float* in, std::size_t rows, std::size_t columns, float eps,
                const float* gamma, const float* beta, float* out) {
  norm<true>(in, rows, columns, eps, gamma, beta, out);
}
void rms_norm(const float* in, std::size_t rows, std::size_t columns, float eps, const float* gamma,
              float* out) {
  norm<false>(in, rows, columns, eps, gamma, nullptr, out);
}

// ((d[i] - h[i] * mean of d h) - mean of d) * scale for one row, with h the normalised x and d = g
// * gamma; and gh[i] = g[i] * h[i]. Without kCentered the means are +0, and subtracting +0 changes
// no number.
template <bool kCentered, bool kGamma>
HWY_INLINE void gradient_row(const float* x, const float* g, std::size_t columns, float eps,
                             const float* gamma, float* dx, float* gh) {
  V means[1], scales[1];
  mean_and_scale<kCentered>(x, columns, eps, means, scales);
  const V n = set(static_cast<float>(columns)), mean = means[0], scale = scales[0];
  const auto h_and_d = [&](std::size_t i, std::size_t lanes, V& h, V& d) HWY_ATTR {
    h = hn::Mul(hn::Sub(load_some(x + i, lanes), mean), scale);
    d = load_some(g + i, lanes);
    if constexpr (kGamma) {
      store_some(hn::Mul(d, h), gh + i, lanes);
      d = hn::Mul(d, load_some(gamma + i, lanes));
    }
  };
  Partials sum_d(0.0f), sum_dh(0.0f);
  const auto add = [&](std::size_t v, std::size_t i, std::size_t lanes) HWY_ATTR {
    V h, d;
    h_and_d(i, lanes, h, d);
    const V dh = hn::Mul(d, h);
    sum_dh.v[v] = hn::Add(sum_dh.v[v], lanes == kLanes ? dh : first_lanes(dh, lanes, zero()));
    if constexpr (kCentered) sum_d.v[v] = hn::Add(sum_d.v[v], d);
  };
  std::size_t i = 0;
  for (; i + kPartials <= columns; i += kPartials) {
    LIMPID_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) add(v, i + v * kLanes, kLanes);
  }
  for_each_of_last(columns - i, [&](std::size_t v, std::size_t j, std::size_t lanes)
                                    HWY_ATTR { add(v, i + j, lanes); });
  const V mean_dh = hn::Div(sum_of(sum_dh), n);
  const V mean_d = kCentered ? hn::Div(sum_of(sum_d), n) : zero();
  const auto finish = [&](std::size_t at, std::size_t lanes) HWY_ATTR {
    const V h = hn::Mul(hn::Sub(load_some(x + at, lanes), mean), scale);
    V d = load_some(g + at, lanes);
    if constexpr (kGamma) d = hn::Mul(d, load_some(gamma + at, lanes));
    const V left = hn::Sub(hn::Sub(d, hn::Mul(h, mean_dh)), mean_d);
    store_some(hn::Mul(left, scale), dx + at, lanes);
  };
  for (i = 0; i + kLanes <= columns; i += kLanes) finish(i, kLanes);
  if (i < columns) finish(i, columns - i);
}

template <bool kCentered>
void norm_gradient(const float* x, const float* g, std::size_t rows, std::size_t columns, float eps,
                   const float* gamma, float* dx, float* gh) {
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t at = r * columns;
    if (gamma != nullptr)
      gradient_row<kCentered, true>(x + at, g + at, columns, eps, gamma, dx + at, gh + at);
    else
      gradient_row<kCentered, false>(x + at, g + at, columns, eps, nullptr, dx + at, nullptr);
  }
}

void fill_norms(Kernels& table) {
  table.layer_norm_gradient = norm_gradient<true>;
  table.rms_norm_gradient = norm_gradient<false>;
  table.layer_norm = layer_norm;
  table.rms_norm = rms_norm;
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_norms(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_norms(table)) }

}  // namespace limpid::kernels
#endif
