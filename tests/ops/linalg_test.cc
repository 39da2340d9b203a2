// Linear algebra: factors that multiply to the matrix, gradients against central differences in
// f64, batches, singular and other unusual matrices. tests/python/linalg_test.py compares with
// LAPACK.
#include "limpid/ops/linalg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/core/key.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/vmap.h"
#include "tests/refusals.h"

namespace limpid::linalg_test {
namespace {

using Values = std::vector<Value>;
using Code = std::function<Values(std::span<const Value>)>;

Function traced(const std::vector<Type>& types, const Code& code) {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < types.size(); ++i)
    inputs.push_back({"x" + std::to_string(i), types[i]});
  return trace("f", inputs, code);
}
Tensor drawn(const Shape& shape, std::uint64_t key) {
  return Tensor::generate<double>(shape, [&](std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(Key(key).word(i)) * 0x1p-31 - 1;
  });
}

struct Case {
  const char* name;
  std::vector<Shape> shapes;
  Code code;
};
// a a^T + 1: positive definite.
Value definite(const Value& a) {
  const std::int64_t n = a.shape().back();
  return matmul(a, a, false, true) + broadcast(eye(a.builder(), n, n, 0, a.dtype()), a.shape());
}
const Case kCases[] = {
    {"cholesky", {{4, 4}}, [](auto v) { return Values{linalg::cholesky(definite(v[0]))}; }},
    {"cholesky of the lower triangle",
     {{3, 3}},
     [](auto v) { return Values{call1(op::cholesky, {definite(v[0]) + triu(v[0], 1)})}; }},
    {"solve", {{4, 4}, {4}}, [](auto v) { return Values{linalg::solve(v[0], v[1])}; }},
    {"solve of several",
     {{3, 3}, {2, 3, 2}},
     [](auto v) { return Values{linalg::solve(v[0], v[1])}; }},
    {"inv", {{2, 3, 3}}, [](auto v) { return Values{linalg::inv(v[0])}; }},
    {"det", {{4, 4}}, [](auto v) { return Values{linalg::det(v[0])}; }},
    {"slogdet", {{4, 4}}, [](auto v) { return Values{linalg::slogdet(v[0]).log_magnitude}; }},
    {"qr of a tall matrix",
     {{5, 3}},
     [](auto v) {
       const linalg::Qr f = linalg::qr(v[0]);
       return Values{f.q, f.r};
     }},
    {"svd of a tall matrix",
     {{5, 3}},
     [](auto v) {
       const linalg::Svd f = linalg::svd(v[0]);
       return Values{f.u, f.s, f.vt};
     }},
    {"svd of a wide matrix",
     {{2, 4}},
     [](auto v) {
       const linalg::Svd f = linalg::svd(v[0]);
       return Values{f.u, f.s, f.vt};
     }},
    {"singular values, all of u wanted",
     {{4, 2}},
     [](auto v) { return Values{linalg::svd(v[0], true).s}; }},
};

std::vector<Type> types_of(const Case& c) {
  std::vector<Type> types;
  for (const Shape& shape : c.shapes) types.push_back({Dtype::kF64, shape});
  return types;
}
std::vector<Tensor> inputs_of(const Case& c, std::uint64_t key) {
  std::vector<Tensor> in;
  for (std::size_t i = 0; i < c.shapes.size(); ++i) in.push_back(drawn(c.shapes[i], key + i));
  return in;
}

TEST(Linalg, GradientsAreCentralDifferences) {
  for (const Case& c : kCases) {
    const Function loss = traced(types_of(c), [&](std::span<const Value> in) {
      const Values results = c.code(in);
      Value total = constant(in[0].builder(), 0, Dtype::kF64);
      for (std::size_t i = 0; i < results.size(); ++i)
        total =
            total + sum(results[i] * constant(in[0].builder(), drawn(results[i].shape(), 50 + i)));
      return Values{total};
    });
    std::vector<std::size_t> all(c.shapes.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const std::vector<Tensor> in = inputs_of(c, 1);
    const std::vector<Tensor> slopes = interpret(grad(loss, all), in);
    double expected = 0;
    constexpr double kStep = 1e-6;
    std::vector<Tensor> above, below;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Tensor direction = drawn(c.shapes[i], 90 + i);
      const auto d = direction.values<double>(), s = slopes[i].values<double>();
      for (std::size_t k = 0; k < d.size(); ++k) expected += d[k] * s[k];
      for (const double step : {kStep, -kStep})
        (step > 0 ? above : below)
            .push_back(Tensor::generate<double>(c.shapes[i], [&](std::span<double> out) {
              for (std::size_t k = 0; k < out.size(); ++k)
                out[k] = in[i].values<double>()[k] + step * d[k];
            }));
    }
    const double difference =
        (interpret(loss, above)[0].item<double>() - interpret(loss, below)[0].item<double>()) /
        (2 * kStep);
    EXPECT_NEAR(expected, difference, 1e-6 * (1 + std::abs(difference))) << c.name;
    EXPECT_GT(std::abs(difference), 1e-3) << c.name;
  }
}

TEST(Linalg, CompiledInABatchAndAloneTheBitsAreThose) {
  for (const Case& c : kCases) {
    const Function f = traced(types_of(c), c.code);
    std::vector<std::vector<Tensor>> each;
    for (std::uint64_t k = 0; k < 3; ++k) each.push_back(inputs_of(c, 10 * k + 3));
    std::vector<Tensor> together;
    for (std::size_t i = 0; i < c.shapes.size(); ++i)
      together.push_back(
          Tensor::generate<double>(c.shapes[i].insert(0, 3), [&](std::span<double> out) {
            double* next = out.data();
            for (const std::vector<Tensor>& one : each)
              next =
                  std::copy(one[i].values<double>().begin(), one[i].values<double>().end(), next);
          }));
    const std::vector<std::optional<std::int64_t>> axes(c.shapes.size(), 0);
    const std::vector<Tensor> batch = compile(vmap(f, axes, 3))(together);
    for (std::size_t k = 0; k < each.size(); ++k) {
      const std::vector<Tensor> one = interpret(f, each[k]), compiled = compile(f)(each[k]);
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_TRUE(compiled[i].same_bits(one[i])) << c.name;
        EXPECT_TRUE(batch[i]
                        .rows(static_cast<std::int64_t>(k), 1)
                        .reshape(one[i].shape())
                        .same_bits(one[i]))
            << c.name;
      }
    }
  }
}

std::vector<double> values_of(const Type& type, const std::vector<double>& elements,
                              const Code& code) {
  const Tensor x = Tensor::from<double>(type.shape, elements);
  const Tensor y = interpret(traced({type}, code), std::vector{x})[0];
  return {y.values<double>().begin(), y.values<double>().end()};
}

TEST(Linalg, OfUnusualMatrices) {
  const Type square{Dtype::kF64, {2, 2}};
  for (const double v :
       values_of(square, {1, 2, 2, 1}, [](auto in) { return Values{linalg::cholesky(in[0])}; }))
    EXPECT_TRUE(std::isnan(v));
  EXPECT_EQ(values_of(square, {1, 2, 2, 4}, [](auto in) { return Values{linalg::det(in[0])}; }),
            std::vector<double>{0});
  EXPECT_EQ(
      values_of(square, {0, 0, 0, 0}, [](auto in) { return Values{linalg::slogdet(in[0]).sign}; }),
      std::vector<double>{0});
  EXPECT_EQ(values_of(square, {0, 0, 0, 0}, [](auto in) { return Values{linalg::svd(in[0]).s}; }),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(values_of(square, {0, 0, 0, 0},
                      [](auto in) {
                        const Value u = linalg::svd(in[0]).u;
                        return Values{matmul(u, u, true, false)};
                      }),
            (std::vector<double>{1, 0, 0, 1}));
  // Scaled, so that no square over- or underflows.
  for (const double size : {1e300, 1e-300})
    EXPECT_EQ(values_of(square, {3 * size, 0, 4 * size, 0},
                        [&](auto in) { return Values{abs(linalg::qr(in[0]).r) / size}; })[0],
              values_of(square, {3 * size, 0, 4 * size, 0},
                        [&](auto in) { return Values{linalg::svd(in[0]).s / size}; })[0]);
  const double nan = std::nan("");
  for (const double v : values_of(square, {1, nan, 0, 1}, [](auto in) {
         const linalg::Svd f = linalg::svd(in[0]);
         return Values{concatenate({reshape(f.u, {4}), f.s, reshape(linalg::qr(in[0]).q, {4})}, 0)};
       }))
    EXPECT_TRUE(std::isnan(v));
}

TEST(Linalg, RefusesWhatItIsNotFor) {
  const auto refused = [](ErrorCode code, const Type& type, const Code& f) {
    expect_refused(code, [&] { traced({type}, f); });
  };
  const Type wide{Dtype::kF64, {2, 3}}, vector{Dtype::kF64, {3}}, whole{Dtype::kI32, {2, 2}};
  refused(ErrorCode::kShape, wide, [](auto in) { return Values{linalg::cholesky(in[0])}; });
  refused(ErrorCode::kShape, wide, [](auto in) { return Values{linalg::det(in[0])}; });
  refused(ErrorCode::kShape, vector, [](auto in) { return Values{linalg::svd(in[0]).s}; });
  refused(ErrorCode::kDtype, whole, [](auto in) { return Values{linalg::inv(in[0])}; });
  refused(ErrorCode::kShape, {Dtype::kF64, {3, 3}}, [](auto in) {
    return Values{linalg::solve(in[0], constant(in[0].builder(), drawn({2}, 1)))};
  });
  const Function f = traced({wide}, [](auto in) { return Values{sum(linalg::qr(in[0]).r)}; });
  expect_refused(ErrorCode::kNoGradient, [&] { grad(f); });
}

}  // namespace
}  // namespace limpid::linalg_test
