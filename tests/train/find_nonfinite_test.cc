// NaNs and infinities provoked on purpose, and the op that is blamed for them.
#include "limpid/train/diagnostics/find_nonfinite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/optim/optimizer.h"
#include "limpid/transforms/grad.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

using Code = std::function<Value(Value x)>;

std::optional<NonFiniteOrigin> find(const Code& code, const Tensor& x) {
  const Function f = trace("f", {{"x", x.type()}}, [&](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "layers.1");
    return std::vector<Value>{code(in[0])};
  });
  return find_nonfinite(f, std::vector<Tensor>{x});
}

const Tensor kNumbers = Tensor::from<float>({2, 2}, {1, 2, 0, 100});

TEST(FindNonFinite, NothingWhereAllIsFinite) {
  EXPECT_FALSE(find([](Value x) { return exp(x * 0.5); }, kNumbers));
}

TEST(FindNonFinite, LogarithmOfZero) {
  const auto origin = find([](Value x) { return sum(log(x) * 0.0); }, kNumbers);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->ops, std::vector<std::string>{"log"});
  EXPECT_EQ(origin->layer, "layers.1");
  EXPECT_EQ(origin->index, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(origin->number, -INFINITY);
  EXPECT_EQ(origin->count, 1);
  ASSERT_EQ(origin->operands.size(), 1u);
  EXPECT_EQ(origin->operands[0].value, "%x");
  EXPECT_EQ(origin->operands[0].statistics.min, 0);
  expect_message(to_text(*origin));
}

TEST(FindNonFinite, TellsOfEachOperandOnce) {
  const Tensor large = Tensor::from<float>({2, 2}, {1e30f, 1, 1, 1});
  expect_message(to_text(find([](Value x) { return multiply(x, x); }, large).value()));
  expect_message(to_text(find([](Value x) { return multiply(x, -x); }, large).value()));
}

TEST(FindNonFinite, OverflowInExpBeforeTheNanItMakes) {
  const auto origin = find([](Value x) { return exp(x) / exp(x); }, kNumbers);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->ops, std::vector<std::string>{"exp"});
  EXPECT_EQ(origin->number, INFINITY);
  EXPECT_EQ(origin->index, (std::vector<std::int64_t>{1, 1}));
}

TEST(FindNonFinite, ANanIsNotOfTheInfinityBesideIt) {
  // Whichever of the two is computed first.
  for (const bool first : {true, false}) {
    const auto code = [&](Value x) {
      const Value early = first ? sqrt(x - 1.0) : exp(x);
      return early + (first ? exp(x) : sqrt(x - 1.0));
    };
    const auto origin = find(code, kNumbers);
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->ops, std::vector<std::string>{"sqrt"});
    EXPECT_TRUE(std::isnan(origin->number));
  }
}

TEST(FindNonFinite, LooksIntoCompositions) {
  // The square of 1e30 is beyond f32.
  const auto origin = find([](Value x) { return mse_loss(x * 1e30, number_like(x, 0)); }, kNumbers);
  ASSERT_TRUE(origin);
  ASSERT_GE(origin->ops.size(), 2u);
  EXPECT_EQ(origin->ops.front(), "squared_error");
  EXPECT_EQ(origin->ops.back(), "multiply");
}

TEST(FindNonFinite, AMaskOfInfinitiesIsNoFault) {
  const auto masked = [](Value x) {
    const Value hidden = constant(x.builder(), Tensor::from<float>({2, 2}, {0, -INFINITY, 0, 0}));
    return softmax(x + hidden);
  };
  EXPECT_FALSE(find(masked, kNumbers));
  const auto origin = find([&](Value x) { return log(masked(x)); }, kNumbers);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->ops, std::vector<std::string>{"log"});
}

// What takes the mask in is blamed, and its operand shows it.
TEST(FindNonFinite, AMaskThatReachesTheEndIsTheFaultOfWhatTookIt) {
  const Function f = trace("f", {{"x", kNumbers.type()}}, [](std::span<const Value> in) {
    const Value mask =
        constant(in[0].builder(), Tensor::from<float>({2, 2}, {0, -INFINITY, NAN, 0}));
    return std::vector<Value>{in[0] + mask};
  });
  const auto origin = find_nonfinite(f, std::vector{kNumbers});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->ops, std::vector<std::string>{"add"});
  expect_message(to_text(*origin));
}

// It has no inputs that could be told.
TEST(FindNonFinite, AConstantMayBeAnOutput) {
  const Function f = trace("f", {{"x", kNumbers.type()}}, [](std::span<const Value> in) {
    return std::vector<Value>{constant(in[0].builder(), Tensor::from<float>({2}, {0, INFINITY}))};
  });
  const auto origin = find_nonfinite(f, std::vector{kNumbers});
  ASSERT_TRUE(origin);
  expect_message(to_text(*origin));
}

// A step of SGD as training makes it: parameters, x, y, rate to the new parameters and the loss.
Function step(const nn::Mlp& net, const Params& params, std::int64_t batch) {
  std::vector<Input> inputs = nn::inputs_of(params);
  const std::size_t n = inputs.size();
  inputs.push_back({"x", {Dtype::kF32, {batch, net.sizes.front()}}});
  inputs.push_back({"y", {Dtype::kI32, {batch}}});
  std::vector<std::size_t> wrt(n);
  for (std::size_t i = 0; i < n; ++i) wrt[i] = i;
  const Function loss = value_and_grad(
      trace("loss", inputs,
            [&](std::span<const Value> in) {
              const Value logits = net(nn::args_of(params, in), in[n]);
              return std::vector<Value>{mean(softmax_cross_entropy(logits, in[n + 1]))};
            }),
      wrt);
  inputs.push_back({"rate", {Dtype::kF32, {}}});
  return trace("step", inputs, [&](std::span<const Value> in) {
    const auto results = in[0].builder().inline_function(loss, in.first(n + 2));
    std::vector<Value> outputs;
    for (std::size_t i = 0; i < n; ++i)
      outputs.push_back(in[i] - results[1 + i] * broadcast(in.back(), in[i].shape()));
    outputs.push_back(results[0]);
    return outputs;
  });
}

struct Training {
  nn::Mlp net = nn::mlp({2, 4, 3}, nn::activation_from_name("leaky_relu").apply);
  Params params = net.init(Key(1));
  Function function = step(net, params, 3);
  std::vector<Tensor> inputs;

  Training(std::initializer_list<float> x, float rate) {
    inputs = params.values();
    inputs.push_back(Tensor::from<float>({3, 2}, x));
    inputs.push_back(Tensor::from<std::int32_t>({3}, {0, 1, 2}));
    inputs.push_back(Tensor::scalar(rate));
  }
};

TEST(FindNonFinite, ANanInTheDataHasItsRowAndColumn) {
  const Training t({1, 2, 3, 4, NAN, 6}, 0.1f);
  const auto origin = find_nonfinite(t.function, t.inputs);
  ASSERT_TRUE(origin);
  EXPECT_TRUE(origin->ops.empty());
  EXPECT_EQ(origin->value, "%x");
  EXPECT_EQ(origin->index, (std::vector<std::int64_t>{2, 0}));
  expect_message(to_text(*origin));
}

TEST(FindNonFinite, ALearningRateTooLarge) {
  Training t({1, 2, 3, 4, 5, 6}, 1e20f);
  std::optional<NonFiniteOrigin> origin;
  for (int s = 0; s < 20 && !origin; ++s) {
    const std::vector<Tensor> results = interpret(t.function, t.inputs);
    origin = find_nonfinite(t.function, t.inputs);
    std::copy(results.begin(), results.end() - 1, t.inputs.begin());
  }
  ASSERT_TRUE(origin);
  EXPECT_FALSE(origin->ops.empty()) << to_text(*origin);
  for (const auto& o : origin->operands) EXPECT_EQ(o.statistics.nans + o.statistics.infs, 0);
}

}  // namespace
}  // namespace limpid::train
