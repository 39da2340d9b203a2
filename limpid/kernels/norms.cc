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

// The sum of (in[i] - mean)^2.
HWY_INLINE V sum_of_squares(const float* in, std::size_t n, V mean) {
  const Partials m(mean);
  Partials sum(0.0f);
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    const Partials c = load_partials(in + i) - m;
    sum = sum + c * c;
  }
  for_each_of_last(n - i, [&](std::size_t v, std::size_t j, std::size_t lanes) HWY_ATTR {
    const V c = hn::Sub(load_some(in + i + j, lanes), mean);
    const V square = hn::Mul(c, c);
    sum.v[v] = hn::Add(sum.v[v], lanes == kLanes ? square : first_lanes(square, lanes, zero()));
  });
  return sum_of(sum);
}

// 1 / root of (sum / n + eps), in every lane.
HWY_INLINE V inverse_root(V sum, V n, float eps) {
  return hn::Div(set(1.0f), hn::Sqrt(hn::Add(hn::Div(sum, n), set(eps))));
}

// out[i] = ((in[i] - mean) * scale) * gamma[i] + beta[i], without what is not there.
template <bool kGamma, bool kBeta>
HWY_INLINE void scale_row(const float* in, std::size_t n, V mean, V scale, const float* gamma,
                          const float* beta, float* out) {
  const auto scaled = [&](std::size_t i, std::size_t lanes) HWY_ATTR {
    V y = hn::Mul(hn::Sub(load_some(in + i, lanes), mean), scale);
    if constexpr (kGamma) y = hn::Mul(y, load_some(gamma + i, lanes));
    if constexpr (kBeta) y = hn::Add(y, load_some(beta + i, lanes));
    return y;
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(scaled(i, kLanes), out + i);
  if (i < n) store_n(scaled(i, n - i), out + i, n - i);
}

HWY_INLINE void scale_row(const float* in, std::size_t n, V mean, V scale, const float* gamma,
                          const float* beta, float* out) {
  if (gamma && beta)
    scale_row<true, true>(in, n, mean, scale, gamma, beta, out);
  else if (gamma)
    scale_row<true, false>(in, n, mean, scale, gamma, beta, out);
  else
    scale_row<false, false>(in, n, mean, scale, gamma, beta, out);
}

void layer_norm(const float* in, std::size_t rows, std::size_t columns, float eps,
                const float* gamma, const float* beta, float* out) {
  const V n = set(static_cast<float>(columns));
  for (std::size_t r = 0; r < rows; ++r, in += columns, out += columns) {
    const V mean = hn::Div(sum_row(in, columns), n);
    const V scale = inverse_root(sum_of_squares(in, columns, mean), n, eps);
    scale_row(in, columns, mean, scale, gamma, beta, out);
  }
}

// Subtracting +0 changes no number.
void rms_norm(const float* in, std::size_t rows, std::size_t columns, float eps, const float* gamma,
              float* out) {
  const V n = set(static_cast<float>(columns));
  for (std::size_t r = 0; r < rows; ++r, in += columns, out += columns) {
    const V scale = inverse_root(sum_of_squares(in, columns, zero()), n, eps);
    scale_row(in, columns, zero(), scale, gamma, nullptr, out);
  }
}

// ((d[i] - h[i] * mean of d h) - mean of d) * scale for one row, with h the normalised x and
// d = g * gamma; and gh[i] = g[i] * h[i]. Without kCentered no mean is taken away, and subtracting
// +0 changes no number.
template <bool kCentered, bool kGamma>
HWY_INLINE void gradient_row(const float* x, const float* g, std::size_t columns, float eps,
                             const float* gamma, float* dx, float* gh) {
  const V n = set(static_cast<float>(columns));
  const V mean = kCentered ? hn::Div(sum_row(x, columns), n) : zero();
  const V scale = inverse_root(sum_of_squares(x, columns, mean), n, eps);
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
