// Kernels of training steps against the scalar specification: gradients of norms, optimisers.
#include "limpid/core/arithmetic.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

class TrainingTest : public OnEveryIsa {};

struct NormGradient {
  std::vector<float> dx, gh;
};

// One row, computed as by the bodies in limpid/ops/norm.cc, in a unit.
NormGradient norm_gradient_in(float unit, const std::vector<float>& x, const std::vector<float>& g,
                              const std::vector<float>& gamma, bool centered, float eps) {
  const std::size_t columns = x.size();
  const auto n = static_cast<float>(columns);
  std::vector<float> h(columns), squares(columns), d(columns), dh(columns);
  for (std::size_t i = 0; i < columns; ++i) h[i] = x[i] * unit;
  const float mean = centered ? arithmetic::sum(h) / n : 0.0f;
  for (std::size_t i = 0; i < columns; ++i) {
    h[i] -= mean;
    squares[i] = h[i] * h[i];
  }
  float square = arithmetic::sum(squares) / n;
  if (centered) {
    const float rest = arithmetic::sum(h) / n;
    for (float& v : h) v -= rest;
    square -= arithmetic::minimum(rest * rest, square);
  }
  square += eps * unit * unit;
  if (unit == 1 && (square == 0 || !(square < kInf)))
    return norm_gradient_in(square == 0 ? 0x1p80f : 0x1p-80f, x, g, gamma, centered, eps);
  const float scale = 1.0f / std::sqrt(square);
  NormGradient result;
  for (std::size_t i = 0; i < columns; ++i) {
    h[i] *= scale;
    d[i] = gamma.empty() ? g[i] : g[i] * gamma[i];
    dh[i] = d[i] * h[i];
    if (!gamma.empty()) result.gh.push_back(g[i] * h[i]);
  }
  const float mean_dh = arithmetic::sum(dh) / n;
  const float mean_d = arithmetic::sum(d) / n;
  for (std::size_t i = 0; i < columns; ++i) {
    float left = d[i] - h[i] * mean_dh;
    if (centered) left -= mean_d;
    result.dx.push_back(left * scale * unit);
  }
  return result;
}
NormGradient norm_gradient_of(const std::vector<float>& x, const std::vector<float>& g,
                              const std::vector<float>& gamma, bool centered, float eps) {
  return norm_gradient_in(1, x, g, gamma, centered, eps);
}

TEST_P(TrainingTest, GradientsOfNorms) {
  constexpr float kEps = 1e-5f;
  std::vector<std::size_t> widths;
  for (std::size_t n = 1; n <= 140; n += n < 36 ? 1 : 13) widths.push_back(n);
  widths.push_back(3 * arithmetic::kRowBlock + 5);
  for (const std::size_t columns : widths)
    for (const bool centered : {true, false})
      for (const bool scaled : {true, false}) {
        const std::size_t rows = 3;
        // Each begins or ends at a protected page.
        Guarded x(rows * columns, columns), g(rows * columns, columns + 1), gamma(columns, columns);
        Guarded dx(rows * columns, columns % 4), gh(rows * columns, 1);
        std::vector<float> want_dx, want_gh, gains;
        for (std::size_t c = 0; c < columns; ++c) gamma[c] = value(3, c);
        if (scaled) gains.assign(gamma.data(), gamma.data() + columns);
        for (std::size_t r = 0; r < rows; ++r) {
          std::vector<float> row(columns), cotangent(columns);
          for (std::size_t c = 0; c < columns; ++c) {
            // The squares of the last row overflow.
            row[c] = x[r * columns + c] = (r == 2 ? 1e20f : 3.0f) * value(1, r * columns + c);
            cotangent[c] = g[r * columns + c] = value(2, r * columns + c);
          }
          const NormGradient y = norm_gradient_of(row, cotangent, gains, centered, kEps);
          want_dx.insert(want_dx.end(), y.dx.begin(), y.dx.end());
          want_gh.insert(want_gh.end(), y.gh.begin(), y.gh.end());
        }
        const auto kernel = centered ? k().layer_norm_gradient : k().rms_norm_gradient;
        kernel(x.data(), g.data(), rows, columns, kEps, scaled ? gamma.data() : nullptr, dx.data(),
               scaled ? gh.data() : nullptr);
        ASSERT_TRUE(same_values(dx.data(), want_dx.data(), want_dx.size())) << columns;
        ASSERT_TRUE(same_values(gh.data(), want_gh.data(), want_gh.size())) << columns;
        ASSERT_TRUE(dx.guards_intact() && gh.guards_intact()) << columns;
        kernel(x.data(), g.data(), rows, columns, kEps, scaled ? gamma.data() : nullptr, g.data(),
               scaled ? gh.data() : nullptr);
        ASSERT_TRUE(same_values(g.data(), want_dx.data(), want_dx.size())) << columns;
      }
}

// The sums of both means begin at +0, or a gradient of -0 would become +0.
TEST_P(TrainingTest, GradientOfANormByACotangentOfMinusZeros) {
  constexpr float kEps = 1e-5f;
  for (std::size_t columns = 1; columns <= 36; ++columns) {
    std::vector<float> x(columns), dx(columns);
    for (std::size_t c = 0; c < columns; ++c) x[c] = 2.0f + value(1, c);
    const std::vector<float> g(columns, -0.0f);
    const NormGradient layer = norm_gradient_of(x, g, {}, true, kEps);
    k().layer_norm_gradient(x.data(), g.data(), 1, columns, kEps, nullptr, dx.data(), nullptr);
    EXPECT_TRUE(same_values(dx.data(), layer.dx.data(), columns)) << "layer norm of " << columns;
    const NormGradient rms = norm_gradient_of(x, g, {}, false, kEps);
    k().rms_norm_gradient(x.data(), g.data(), 1, columns, kEps, nullptr, dx.data(), nullptr);
    EXPECT_TRUE(same_values(dx.data(), rms.dx.data(), columns)) << "RMS norm of " << columns;
    EXPECT_TRUE(same(rms.dx[0], -0.0f));
  }
}

// Rows whose squares overflow or vanish, of every width.
TEST_P(TrainingTest, NormsOfHugeAndOfTinyNumbers) {
  for (std::size_t columns = 2; columns <= 36; ++columns)
    for (const float size : {3e38f, 1e30f, 1e-30f, 1e-38f})
      for (const bool centered : {true, false}) {
        const float eps = size < 1 ? 0 : 1e-5f;
        std::vector<float> x(columns), g(columns), gamma(columns), y(columns), dx(columns),
            gh(columns);
        for (std::size_t c = 0; c < columns; ++c) {
          x[c] = c % 2 == 0 ? size : -size;
          g[c] = value(2, c);
          gamma[c] = 1 + value(3, c);
        }
        const NormGradient want = norm_gradient_of(x, g, gamma, centered, eps);
        (centered ? k().layer_norm_gradient : k().rms_norm_gradient)(
            x.data(), g.data(), 1, columns, eps, gamma.data(), dx.data(), gh.data());
        EXPECT_TRUE(same_values(dx.data(), want.dx.data(), columns)) << size << ", " << columns;
        EXPECT_TRUE(same_values(gh.data(), want.gh.data(), columns)) << size << ", " << columns;
        if (centered)
          k().layer_norm(x.data(), 1, columns, eps, nullptr, nullptr, y.data());
        else
          k().rms_norm(x.data(), 1, columns, eps, nullptr, y.data());
        for (std::size_t c = 0; c < columns; ++c) {
          const float mean = centered && columns % 2 == 1 ? 1 / static_cast<float>(columns) : 0;
          const float want_y = ((c % 2 == 0 ? 1 : -1) - mean) / std::sqrt(1 - mean * mean);
          EXPECT_NEAR(y[c], want_y, 1e-5) << size << ", " << columns;
        }
      }
}

TEST_P(TrainingTest, AdamUpdate) {
  for (std::size_t n = 0; n <= 67; ++n) {
    // Each begins or ends at a protected page.
    Guarded p(n, n), g(n, n + 1), m(n, n + 2), v(n, n + 3), new_p(n, 2), new_m(n, 1), new_v(n, 3);
    std::vector<float> want_p(n), want_m(n), want_v(n);
    const auto& special = special_values();
    AdamUpdate u{p.data(),     g.data(), m.data(), v.data(), new_p.data(), new_m.data(),
                 new_v.data(), 0.7f,     0.99f,    1e-3f,    0.8f,         1e-8f,
                 0.9f,         0.1f,     0.99f,    0.01f};
    for (std::size_t i = 0; i < n; ++i) {
      p[i] = value(1, i);
      g[i] = i % 9 == 4 ? special[i % special.size()] : value(2, i);
      m[i] = value(3, i);
      v[i] = i % 7 == 3 ? 0.0f : std::fabs(value(4, i));
      const float scaled = g[i] * u.gradient_scale;
      want_m[i] = m[i] * u.beta1 + scaled * u.rest1;
      want_v[i] = v[i] * u.beta2 + scaled * scaled * u.rest2;
      want_p[i] =
          p[i] * u.decay - u.step_size * (want_m[i] / (std::sqrt(want_v[i]) / u.root + u.eps));
    }
    k().adam_update(u, {0, n / 3});
    k().adam_update(u, {n / 3, n});
    ASSERT_TRUE(same_values(new_p.data(), want_p.data(), n)) << n;
    ASSERT_TRUE(same_values(new_m.data(), want_m.data(), n)) << n;
    ASSERT_TRUE(same_values(new_v.data(), want_v.data(), n)) << n;
    ASSERT_TRUE(new_p.guards_intact() && new_m.guards_intact() && new_v.guards_intact()) << n;
    u.new_parameter = p.data();
    u.new_mean = m.data();
    u.new_square = v.data();
    k().adam_update(u, {0, n});
    ASSERT_TRUE(same_values(p.data(), want_p.data(), n)) << "in place " << n;
    ASSERT_TRUE(same_values(m.data(), want_m.data(), n)) << "in place " << n;
    ASSERT_TRUE(same_values(v.data(), want_v.data(), n)) << "in place " << n;
  }
}

LIMPID_ON_EVERY_ISA(TrainingTest);

}  // namespace
}  // namespace limpid::kernels
