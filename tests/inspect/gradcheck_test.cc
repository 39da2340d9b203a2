// The gradient against differences: right ones pass, wrong ones are named with their place.
#include "limpid/inspect/gradcheck.h"

#include <gtest/gtest.h>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/nn/init.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"

namespace limpid {
namespace {

Params with_example(Params params, std::int64_t features) {
  params.set("x", nn::normal(1)(Key(5), {features}));
  return params;
}

TEST(Gradcheck, NetworksOfEveryActivationAgree) {
  for (const std::string& name : nn::activation_names()) {
    if (name == "step") continue;  // has no gradient
    const nn::Mlp net = nn::mlp({5, 7, 6, 3}, nn::activation_from_name(name).apply);
    const auto rows = gradcheck(net.function(), with_example(net.init(Key(2)), 5), Key(3));
    ASSERT_EQ(rows.size(), 7u);
    for (const GradcheckRow& row : rows) {
      EXPECT_TRUE(row.agrees) << name << "\n" << to_text(rows);
      EXPECT_EQ(row.checked, std::min<std::int64_t>(64, row.type.shape.elements()));
    }
  }
}

TEST(Gradcheck, OfLargeTensorsAFewElementsAreTried) {
  const nn::Mlp net = nn::mlp({50, 40, 3}, tanh);
  const auto rows = gradcheck(net.function(), with_example(net.init(Key(2)), 50), Key(3),
                              {.samples = 10, .tolerance = 1e-6});
  EXPECT_LE(rows[0].checked, 10);
  EXPECT_GE(rows[0].checked, 5);
  EXPECT_EQ(rows[3].checked, 3);
}

// At 0 the derivative of relu counts as 0, and the difference is 1/2.
TEST(Gradcheck, ADifferenceIsNamedWithItsPlace) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2, 3}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{relu(in[0])};
  });
  const auto rows = gradcheck(f, {{"x", Tensor::from<float>({2, 3}, {1, 2, -1, 3, 0, 1})}}, Key(1));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].agrees);
  EXPECT_EQ(rows[0].index, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(rows[0].gradient, 0);
  EXPECT_NE(rows[0].difference, 0);
  EXPECT_NE(to_text(rows).find("DIFFERS"), std::string::npos);
}

TEST(Gradcheck, NotANumberDoesNotAgree) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{log(in[0])};
  });
  EXPECT_FALSE(gradcheck(f, {{"x", Tensor::from<float>({2}, {1, -1})}}, Key(1))[0].agrees);
}

}  // namespace
}  // namespace limpid
