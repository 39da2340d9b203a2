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

// Sums over rows of n elements, from `in` on: term(r, i, lanes) gives kTerms terms of the elements
// from i on of row r, of kRows; number r * kTerms + t of the result is the sum of the terms t.
// Several sums at once hide the latency of the additions.
template <std::size_t kRows, std::size_t kTerms, class Term>
HWY_INLINE Many<kRows * kTerms> sum_terms(std::size_t n, const Term& term) {
  const auto run = [&term](std::size_t i, std::size_t end) LIMPID_INLINED {
    Many<kRows * kTerms * kVectors> sums(0.0f);
    const auto add = [&](std::size_t v, std::size_t at, std::size_t lanes) HWY_ATTR {
      LIMPID_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        const Many<kTerms> terms = term(r, at, lanes);
        LIMPID_UNROLL
        for (std::size_t t = 0; t < kTerms; ++t) {
          V& sum = sums.v[(r * kTerms + t) * kVectors + v];
          const V x = terms.v[t];
          sum = hn::Add(sum, lanes == kLanes ? x : first_lanes(x, lanes, zero()));
        }
      }
    };
    for (; i + kPartials <= end; i += kPartials) {
      LIMPID_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) add(v, i + v * kLanes, kLanes);
    }
    for_each_of_last(end - i, [&](std::size_t v, std::size_t j, std::size_t lanes)
                                  HWY_ATTR { add(v, i + j, lanes); });
    return sums;
  };
  return sum_partials<kRows * kTerms>(n, run);
}

// What is subtracted from the elements of a row, and what they are multiplied by then. The second
// number is the mean of what the first one leaves: without rounding it would be 0.
struct Moments {
  V mean, rest, scale;

  HWY_INLINE V normalised(V x) const { return hn::Mul(centred(x), scale); }
  HWY_INLINE V centred(V x) const { return hn::Sub(hn::Sub(x, mean), rest); }
};

// The unit of a row's elements: 1, unless squares are infinite or all 0.
struct One {
  HWY_INLINE V of(V x) const { return x; }
};
struct Unit {
  float unit;
  HWY_INLINE V of(V x) const { return hn::Mul(x, set(unit)); }
};

// Whether a scale in the unit 1 is one, and the unit to use if it is not.
HWY_INLINE bool is_usual(V scale) {
  const float s = hn::GetLane(scale);
  return s > 0 && s < HUGE_VALF;
}
HWY_INLINE Unit unit_for(V scale) {
  return {hn::GetLane(scale) == HUGE_VALF ? 1 / co::kNormUnit : co::kNormUnit};
}

// out[i] = the normalised in[i] * gamma[i] + beta[i], where a missing gamma or beta is left out.
template <bool kGamma, bool kBeta, class InUnit>
HWY_INLINE void scale_row(const float* in, std::size_t n, const Moments& moments,
                          const float* gamma, const float* beta, const Results& results,
                          const InUnit& unit, float* out) {
  const auto scaled = [&](std::size_t i, std::size_t lanes) HWY_ATTR {
    V y = moments.normalised(unit.of(load_some(in + i, lanes)));
    if constexpr (kGamma) y = hn::Mul(y, load_some(gamma + i, lanes));
    if constexpr (kBeta) y = hn::Add(y, load_some(beta + i, lanes));
    return y;
  };
  std::size_t i = results.lanes_before(out, n);
  if (i > 0) store_n(scaled(0, i), out, i);
  for (; i + kLanes <= n; i += kLanes) results.put(scaled(i, kLanes), F32(), out + i);
  if (i < n) store_n(scaled(i, n - i), out + i, n - i);
}

template <class InUnit>
HWY_INLINE void scale_row(const float* in, std::size_t n, const Moments& moments,
                          const float* gamma, const float* beta, const Results& results,
                          const InUnit& unit, float* out) {
  if (gamma && beta)
    scale_row<true, true>(in, n, moments, gamma, beta, results, unit, out);
  else if (gamma)
    scale_row<true, false>(in, n, moments, gamma, beta, results, unit, out);
  else
    scale_row<false, false>(in, n, moments, gamma, beta, results, unit, out);
}

// Of kRows rows. Without kCentered the means are +0: subtracting +0 changes no number.
template <bool kCentered, std::size_t kRows, class InUnit>
HWY_INLINE void find_moments(const float* in, std::size_t columns, float eps, const InUnit& unit,
                             Moments (&moments)[kRows]) {
  const V n = set(static_cast<float>(columns));
  const auto read = [&, in](std::size_t r, std::size_t i, std::size_t lanes)
                        HWY_ATTR { return unit.of(load_some(in + r * columns + i, lanes)); };
  Many<kRows> mean(0.0f);
  if constexpr (kCentered) {
    mean = sum_terms<kRows, 1>(columns, [&read](std::size_t r, std::size_t i, std::size_t lanes)
                                            HWY_ATTR { return Many<1>(read(r, i, lanes)); });
    LIMPID_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) mean.v[r] = hn::Div(mean.v[r], n);
  }
  constexpr std::size_t kTerms = kCentered ? 2 : 1;
  const auto sums = sum_terms<kRows, kTerms>(
      columns, [&](std::size_t r, std::size_t i, std::size_t lanes) HWY_ATTR {
        const V c = hn::Sub(read(r, i, lanes), mean.v[r]);
        Many<kTerms> terms;
        terms.v[0] = hn::Mul(c, c);
        if constexpr (kCentered) terms.v[1] = c;
        return terms;
      });
  LIMPID_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    V square = hn::Div(sums.v[r * kTerms], n), rest = zero();
    if constexpr (kCentered) {
      rest = hn::Div(sums.v[r * kTerms + 1], n);
      square = hn::Sub(square, minimum(hn::Mul(rest, rest), square));
    }
    moments[r] = {mean.v[r], rest, hn::Div(set(1.0f), hn::Sqrt(hn::Add(square, set(eps))))};
  }
}

template <bool kCentered>
HWY_NOINLINE void unusual_norm_row(Unit unit, const float* in, std::size_t columns, float eps,
                                   const float* gamma, const float* beta, const Results& results,
                                   float* out) {
  Moments moments[1];
  find_moments<kCentered>(in, columns, eps * unit.unit * unit.unit, unit, moments);
  scale_row(in, columns, moments[0], gamma, beta, results, unit, out);
}

template <bool kCentered, std::size_t kRows>
HWY_INLINE void norm_rows(const float* in, std::size_t columns, float eps, const float* gamma,
                          const float* beta, const Results& results, float* out) {
  Moments moments[kRows];
  find_moments<kCentered>(in, columns, eps, One(), moments);
  for (std::size_t r = 0; r < kRows; ++r) {
    const float* const from = in + r * columns;
    if (HWY_LIKELY(is_usual(moments[r].scale)))
      scale_row(from, columns, moments[r], gamma, beta, results, One(), out + r * columns);
    else
      unusual_norm_row<kCentered>(unit_for(moments[r].scale), from, columns, eps, gamma, beta,
                                  results, out + r * columns);
  }
}

// As many rows as the registers have room for sums of.
constexpr std::size_t kNormRows = kVectors == 1 ? 4 : 2;

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
template <bool kCentered, bool kGamma, class InUnit>
HWY_INLINE void gradient_row_in(const InUnit& unit, const Moments& moments, const float* x,
                                const float* g, std::size_t columns, const float* gamma, float* dx,
                                float* gh) {
  const V n = set(static_cast<float>(columns));
  constexpr std::size_t kTerms = kCentered ? 2 : 1;
  const auto sums =
      sum_terms<1, kTerms>(columns, [&](std::size_t, std::size_t i, std::size_t lanes) HWY_ATTR {
        const V h = moments.normalised(unit.of(load_some(x + i, lanes)));
        V d = load_some(g + i, lanes);
        if constexpr (kGamma) {
          store_some(hn::Mul(d, h), gh + i, lanes);
          d = hn::Mul(d, load_some(gamma + i, lanes));
        }
        Many<kTerms> terms;
        terms.v[0] = hn::Mul(d, h);
        if constexpr (kCentered) terms.v[1] = d;
        return terms;
      });
  const V mean_dh = hn::Div(sums.v[0], n);
  const V mean_d = kCentered ? hn::Div(sums.v[kTerms - 1], n) : zero();
  const auto finish = [&](std::size_t at, std::size_t lanes) HWY_ATTR {
    const V h = moments.normalised(unit.of(load_some(x + at, lanes)));
    V d = load_some(g + at, lanes);
    if constexpr (kGamma) d = hn::Mul(d, load_some(gamma + at, lanes));
    const V left = hn::Sub(hn::Sub(d, hn::Mul(h, mean_dh)), mean_d);
    store_some(unit.of(hn::Mul(left, moments.scale)), dx + at, lanes);
  };
  std::size_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) finish(i, kLanes);
  if (i < columns) finish(i, columns - i);
}

template <bool kCentered, bool kGamma>
HWY_NOINLINE void unusual_gradient_row(Unit unit, const float* x, const float* g,
                                       std::size_t columns, float eps, const float* gamma,
                                       float* dx, float* gh) {
  Moments moments[1];
  find_moments<kCentered>(x, columns, eps * unit.unit * unit.unit, unit, moments);
  gradient_row_in<kCentered, kGamma>(unit, moments[0], x, g, columns, gamma, dx, gh);
}

template <bool kCentered, bool kGamma>
HWY_INLINE void gradient_row(const float* x, const float* g, std::size_t columns, float eps,
                             const float* gamma, float* dx, float* gh) {
  Moments moments[1];
  find_moments<kCentered>(x, columns, eps, One(), moments);
  if (HWY_LIKELY(is_usual(moments[0].scale)))
    gradient_row_in<kCentered, kGamma>(One(), moments[0], x, g, columns, gamma, dx, gh);
  else
    unusual_gradient_row<kCentered, kGamma>(unit_for(moments[0].scale), x, g, columns, eps, gamma,
                                            dx, gh);
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
