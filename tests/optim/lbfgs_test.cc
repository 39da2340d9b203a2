// L-BFGS on functions whose minima are known.
#include "limpid/optim/lbfgs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/vmap.h"
#include "tests/refusals.h"

namespace limpid::optim {
namespace {

using Values = std::vector<Value>;

// Rosenbrock's valley: the minimum, 0, is at (1, 1, ..., 1).
Value rosenbrock(const Value& x) {
  const std::int64_t n = x.shape()[0];
  const Value a = slice(x, 0, 0, n - 1), b = slice(x, 0, 1, n), c = b - a * a, d = 1.0 - a;
  return sum(100.0 * c * c + d * d);
}
Function loss_of(const Type& type, Value (*loss)(const Value&)) {
  return trace("loss", {{"x", type}},
               [&](std::span<const Value> in) { return Values{loss(in[0])}; });
}
Function minimiser(const Type& type, Value (*loss)(const Value&),
                   const LbfgsOptions& options = {}) {
  return trace("minimise", {{"x", type}}, [&](std::span<const Value> in) {
    const LbfgsResult r = lbfgs(loss_of(type, loss), in[0], {}, options);
    return Values{r.x, r.value, r.gradient, r.steps, r.evaluations, r.status};
  });
}
std::int32_t whole(const Tensor& t) { return t.item<std::int32_t>(); }

TEST(Lbfgs, FindsTheEndOfAValley) {
  const Type type{Dtype::kF64, {8}};
  const Tensor x0 = Tensor::from<double>({8}, {-1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1});
  const Function f = minimiser(type, rosenbrock, {.value_tolerance = 0});
  const std::vector<Tensor> best = interpret(f, std::vector{x0});
  for (const double v : best[0].values<double>()) EXPECT_NEAR(v, 1, 1e-5);
  EXPECT_LT(best[1].item<double>(), 1e-10);
  for (const double g : best[2].values<double>()) EXPECT_LE(std::abs(g), 1e-5);
  EXPECT_EQ(whole(best[5]), static_cast<std::int32_t>(LbfgsStatus::kGradient));
  EXPECT_LT(whole(best[3]), 80);
  EXPECT_GE(whole(best[4]), whole(best[3]));
  const std::vector<Tensor> again = compile(f)(std::vector{x0});
  for (std::size_t i = 0; i < best.size(); ++i) EXPECT_TRUE(best[i].same_bits(again[i])) << i;
}

TEST(Lbfgs, InABatchIsThatOfEach) {
  const Type type{Dtype::kF32, {2}};
  const Function f = minimiser(type, rosenbrock);
  const Tensor both = Tensor::from<float>({2, 2}, {-1.2f, 1, 0.5f, 0.5f});
  const std::vector<Tensor> batch = compile(vmap(f, {0}, 2))(std::vector{both});
  for (std::int64_t k = 0; k < 2; ++k) {
    const std::vector<Tensor> one = interpret(f, std::vector{both.rows(k, 1).reshape({2})});
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(batch[i].rows(k, 1).reshape(one[i].shape()).same_bits(one[i])) << k << " " << i;
  }
}

TEST(Lbfgs, SaysWhyItEnded) {
  const Type type{Dtype::kF64, {2}};
  const auto status = [&](Value (*loss)(const Value&), const LbfgsOptions& options, double start) {
    const Tensor x0 = Tensor::from<double>({2}, {start, start});
    return static_cast<LbfgsStatus>(
        whole(interpret(minimiser(type, loss, options), std::vector{x0})[5]));
  };
  const auto square = [](const Value& x) { return sum(x * x); };
  EXPECT_EQ(status(square, {}, 0), LbfgsStatus::kGradient);
  EXPECT_EQ(status(rosenbrock, {.max_steps = 2}, -1), LbfgsStatus::kMaxSteps);
  EXPECT_EQ(status(square, {.gradient_tolerance = 0, .value_tolerance = 1}, 1),
            LbfgsStatus::kValue);
  // Without a minimum the search along a line ends where it was.
  EXPECT_EQ(status([](const Value& x) { return sum(log(x)); }, {}, -1), LbfgsStatus::kLineSearch);
}

TEST(Lbfgs, RefusesOptionsOutOfRange) {
  const Type type{Dtype::kF64, {2}};
  for (const LbfgsOptions& options : {LbfgsOptions{.history = 0},
                                      {.max_line_search = 0},
                                      {.gradient_tolerance = std::nan("")},
                                      {.sufficient_decrease = 0.95}})
    expect_refused(ErrorCode::kInvalidArgument, [&] { minimiser(type, rosenbrock, options); });
  expect_refused(ErrorCode::kShape, [&] {
    minimiser({Dtype::kF64, {}}, [](const Value& x) { return x; });
  });
}

}  // namespace
}  // namespace limpid::optim
