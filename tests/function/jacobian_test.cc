// Jacobians and Hessians, forward and reverse, against each other and known ones.
#include "limpid/transforms/jacobian.h"

#include <gtest/gtest.h>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

Tensor reals(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::from<double>(shape, values);
}

// Outputs x^2 w and the sum of w, of x (2) and w (); and an integer.
Function products() {
  return trace("f", {{"x", {Dtype::kF64, {2}}}, {"w", {Dtype::kF64, {}}}},
               [](std::span<const Value> in) {
                 return Values{in[0] * in[0] * broadcast(in[1], {2}), cast(in[1], Dtype::kI32),
                               in[1] * in[1]};
               });
}

TEST(Jacobian, ForwardAndReverseAreTheDerivatives) {
  const std::vector<Tensor> in{reals({2}, {2, 3}), reals({}, {5})};
  for (const JacobianMode mode : {JacobianMode::kReverse, JacobianMode::kForward}) {
    const std::vector<Tensor> j = interpret(jacobian(products(), {0, 1}, mode), in);
    ASSERT_EQ(j.size(), 4u);
    EXPECT_TRUE(j[0].same_bits(reals({2, 2}, {20, 0, 0, 30})));
    EXPECT_TRUE(j[1].same_bits(reals({2}, {4, 9})));
    EXPECT_TRUE(j[2].same_bits(reals({2}, {0, 0})));
    EXPECT_TRUE(j[3].same_bits(reals({}, {10})));
  }
}

TEST(Hessian, AndItsProductWithAVector) {
  const Function f =
      trace("f", {{"x", {Dtype::kF64, {2}}}, {"w", {Dtype::kF64, {}}}},
            [](std::span<const Value> in) { return Values{sum(in[0] * in[0] * in[0]) * in[1]}; });
  const std::vector<Tensor> in{reals({2}, {2, 3}), reals({}, {5})};
  const std::vector<Tensor> h = interpret(hessian(f, {0, 1}), in);
  ASSERT_EQ(h.size(), 4u);
  EXPECT_TRUE(h[0].same_bits(reals({2, 2}, {60, 0, 0, 90})));
  EXPECT_TRUE(h[1].same_bits(reals({2}, {12, 27})));
  EXPECT_TRUE(h[2].same_bits(reals({2}, {12, 27})));
  EXPECT_TRUE(h[3].same_bits(reals({}, {0})));
  const std::vector<Tensor> product =
      interpret(hvp(f, {0, 1}), std::vector{in[0], in[1], reals({2}, {1, 10}), reals({}, {2})});
  EXPECT_TRUE(product[0].same_bits(reals({2}, {84, 954})));
  EXPECT_TRUE(product[1].same_bits(reals({}, {282})));
}

TEST(Jacobian, RefusesWhatHasNone) {
  const Function f = trace("f", {{"x", {Dtype::kF64, {2}}}}, [](std::span<const Value> in) {
    return Values{cast(in[0], Dtype::kI32)};
  });
  expect_refused(ErrorCode::kDtype, [&] { jacobian(f); });
}

}  // namespace
}  // namespace limpid
