// The promise on the networks people run: rows alone and in batches, threads, instruction sets,
// forward, gradient and optimiser, and the worked numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "limpid/compile/executable.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/step.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/vmap.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

// ---- worked numbers

float neuron(const std::vector<float>& x, const std::vector<float>& w, float b) {
  const auto n = static_cast<std::int64_t>(x.size());
  const Function f = trace(
      "neuron",
      {{"x", {Dtype::kF32, {n}}}, {"w", {Dtype::kF32, {1, n}}}, {"b", {Dtype::kF32, {1}}}},
      [](std::span<const Value> in) { return std::vector<Value>{linear(in[0], in[1], in[2])}; });
  const std::vector<Tensor> inputs{Tensor::from<float>({n}, x), Tensor::from<float>({1, n}, w),
                                   Tensor::from<float>({1}, {b})};
  return compile(f)(inputs)[0].item<float>();
}

TEST(WorkedNumbers, OneNeuron) {
  EXPECT_FLOAT_EQ(neuron({1.5f, -2.0f, 0.8f}, {0.4f, -0.5f, 0.3f}, 0.1f), 1.94f);
  EXPECT_FLOAT_EQ(neuron({1.5f, -0.7f}, {0.8f, -0.3f}, 0.2f), 1.61f);
}

// Every intermediate value of a 2-3-1 network: pre-activation, hidden, y.
std::vector<Tensor> two_three_one(const Params& params, const std::vector<float>& x) {
  const nn::Mlp net = nn::mlp({2, 3, 1}, relu);
  std::vector<Tensor> values;
  interpret(bind(net.function(), params), std::vector<Tensor>{Tensor::from<float>({2}, x)},
            [&](const Node& node, std::size_t, const Tensor& value) {
              if (node.op != &op::constant) values.push_back(value);
            });
  return values;
}

void expect_values(const Tensor& t, const std::vector<float>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(t.values<float>()[i], expected[i], 1e-6f) << i;
}

TEST(WorkedNumbers, MlpOfWholeNumbers) {
  const Params params{{"layers.0.weight", Tensor::from<float>({3, 2}, {1, -1, 0, 1, 1, 1})},
                      {"layers.0.bias", Tensor::from<float>({3}, {0, 0, 0})},
                      {"layers.1.weight", Tensor::from<float>({1, 3}, {1, 1, 1})},
                      {"layers.1.bias", Tensor::from<float>({1}, {0})}};
  const std::vector<Tensor> values = two_three_one(params, {2, -1});
  ASSERT_EQ(values.size(), 3u);
  expect_values(values[0], {3, -1, 1});
  expect_values(values[1], {3, 0, 1});
  EXPECT_EQ(values[2].item<float>(), 4.0f);
}

TEST(WorkedNumbers, MlpOfFractions) {
  const Params params{
      {"layers.0.weight", Tensor::from<float>({3, 2}, {0.8f, -0.3f, -0.4f, 0.6f, 0.5f, 0.9f})},
      {"layers.0.bias", Tensor::from<float>({3}, {0.2f, 0.1f, -0.5f})},
      {"layers.1.weight", Tensor::from<float>({1, 3}, {0.6f, -0.2f, 0.4f})},
      {"layers.1.bias", Tensor::from<float>({1}, {0.1f})}};
  const std::vector<Tensor> values = two_three_one(params, {1.5f, -0.7f});
  expect_values(values[0], {1.61f, -0.92f, -0.38f});
  expect_values(values[1], {1.61f, 0, 0});
  EXPECT_NEAR(values[2].item<float>(), 1.066f, 1e-6f);
}

TEST(WorkedNumbers, StableSoftmax) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{softmax(in[0])};
  });
  const auto of = [&](std::vector<float> x) {
    return interpret(f, std::vector<Tensor>{Tensor::from<float>({3}, x)})[0];
  };
  EXPECT_TRUE(of({1000, 1001, 1002}).same_bits(of({0, 1, 2})));
  const Tensor extreme = of({1e9f, -1e9f, -1e9f});
  EXPECT_EQ(extreme.values<float>()[0], 1.0f);
  EXPECT_EQ(extreme.values<float>()[1], 0.0f);
}

std::int64_t parameters(const Params& params) {
  std::int64_t count = 0;
  for (const auto& [name, p] : params) count += p.elements();
  return count;
}

TEST(WorkedNumbers, ParameterCounts) {
  EXPECT_EQ(parameters(nn::Linear{512, 2048}.init(Key(0))), 1'050'624);
  // 256*512 + 512 + 512*256 + 256 + 256*128 + 128 + 128*100 + 100
  EXPECT_EQ(parameters(nn::mlp({256, 512, 256, 128, 100}, relu).init(Key(0))), 308'708);
  EXPECT_EQ(parameters(nn::mlp({784, 256, 128, 10}, relu).init(Key(0))), 235'146);
  EXPECT_EQ((nn::Linear{4096, 16384}.in + 1) * 16384, 67'125'248);
}

TEST(WorkedNumbers, LargestGradients) {
  const auto slope = [](Value (*f)(Value), double x) {
    const Function g =
        grad(trace("f", {{"x", {Dtype::kF64, {}}}},
                   [&](std::span<const Value> in) { return std::vector<Value>{f(in[0])}; }),
             {0});
    return interpret(g, std::vector<Tensor>{Tensor::scalar(x)})[0].item<double>();
  };
  EXPECT_EQ(slope(sigmoid, 0), 0.25);
  EXPECT_EQ(slope(tanh, 0), 1);
  EXPECT_EQ(slope(relu, 3), 1);
  EXPECT_EQ(slope(relu, 0), 0);
}

// ---- the same bits

const nn::Mlp& digits_net() {
  static const nn::Mlp net = nn::mlp({784, 256, 128, 10}, relu);
  return net;
}

TEST(SameBits, EveryBatchEqualsSingleRows) {
  const Function model = bind(digits_net().function(), digits_net().init(Key(1)));
  const Tensor rows = random_tensor({Dtype::kF32, {70, 784}}, Key(2), 0, 1, 2);
  for (kernels::Isa isa : kernels::available_isas()) {
    std::vector<Tensor> single;
    const Executable one = compile(model, {isa});
    for (std::int64_t i = 0; i < 70; ++i)
      single.push_back(one(std::vector<Tensor>{rows.rows(i, 1).reshape({784})})[0]);
    const std::int64_t last = isa == kernels::Isa::kExact ? 4 : 70;
    for (std::int64_t n = 1; n <= last; ++n) {
      const Tensor batch =
          compile(vmap(model, {0}, n), {isa})(std::vector<Tensor>{rows.rows(70 - n, n)})[0];
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_TRUE(
            batch.rows(i, 1).reshape({10}).same_bits(single[static_cast<std::size_t>(70 - n + i)]))
            << name(isa) << ", row " << i << " of " << n;
    }
  }
}

TEST(SameBits, OneRowEqualsTheInterpreter) {
  const Function model = bind(digits_net().function(), digits_net().init(Key(1)));
  const std::vector<Tensor> row{random_tensor({Dtype::kF32, {784}}, Key(2), 0, 1, 2)};
  const Tensor expected = interpret(model, row)[0];
  for (kernels::Isa isa : kernels::available_isas())
    EXPECT_TRUE(compile(model, {isa})(row)[0].same_bits(expected)) << name(isa);
}

// Small bound weights have a kernel of their own for one row: sums of several blocks, outputs of no
// whole panel.
TEST(SameBits, OneRowOfSmallBoundWeightsEqualsTheInterpreter) {
  for (const auto& [in, out] : {std::pair<std::int64_t, std::int64_t>{600, 7},
                                {513, 17},
                                {257, 1},
                                {300, 70},
                                {1, 5},
                                {256, 128}}) {
    const nn::Mlp net = nn::mlp({in, out}, relu);
    const Function model = bind(net.function(), net.init(Key(6)));
    const std::vector<Tensor> row{random_tensor({Dtype::kF32, {in}}, Key(7), -1, 1, 2)};
    const Tensor expected = interpret(model, row)[0];
    for (kernels::Isa isa : kernels::available_isas())
      EXPECT_TRUE(compile(model, {isa})(row)[0].same_bits(expected))
          << name(isa) << ", " << in << " to " << out;
  }
}

// A whole step of training, forward, backward, dropout and optimiser, against the interpreter.
TEST(SameBits, TrainingStepOnEveryInstructionSetAndThreadCount) {
  const nn::Mlp net = nn::mlp({50, 40, 33, 7}, relu, 0.2);
  for (const optim::Sgd& optimizer : {optim::Sgd{}, optim::Sgd{0.9, 0.01, true}}) {
    const Function step = train::step_function(train::mlp_problem(net), {optimizer}, 37);
    verify(step);
    const std::vector<Tensor> inputs = random_inputs(step, Key(3), -1, 1, 7);
    const std::vector<Tensor> expected = interpret(step, inputs);
    for (kernels::Isa isa : kernels::available_isas())
      for (int threads : {1, 2, 3, 5}) {
        ThreadPool pool({.threads = threads});
        const std::vector<Tensor> got = compile(step, {isa})(inputs, &pool);
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(got[i].same_bits(expected[i]))
              << step.outputs()[i].name << ", " << name(isa) << ", " << threads << " threads";
      }
  }
}

// Valid states of Adam: averages of squares are not negative, powers are below 1.
TEST(SameBits, AdamStepOnEveryInstructionSetAndThreadCount) {
  const nn::Mlp net = nn::mlp({50, 40, 33, 7}, relu, 0.2);
  const optim::Clip clip{.value = 0.5, .norm = 0.1};
  const Function step =
      train::step_function(train::mlp_problem(net), {optim::AdamW{.amsgrad = true}, clip}, 37);
  std::vector<Tensor> inputs = random_inputs(step, Key(3), -1, 1, 7);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = step.inputs()[i].name;
    if (name.find("exp_avg_sq.") != std::string::npos)
      inputs[i] = random_tensor(inputs[i].type(), Key(4).fold_in(i), 0, 1, 2);
    if (name.rfind("beta", 0) == 0) inputs[i] = Tensor::scalar(0.75);
  }
  const std::vector<Tensor> expected = interpret(step, inputs);
  for (kernels::Isa isa : kernels::available_isas())
    for (int threads : {1, 3}) {
      ThreadPool pool({.threads = threads});
      const std::vector<Tensor> got = compile(step, {isa})(inputs, &pool);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(got[i].same_bits(expected[i]))
            << step.outputs()[i].name << ", " << name(isa) << ", " << threads << " threads";
    }
}

TEST(SameBits, RealTrainingStepOnThreads) {
  const Function step = train::step_function(
      train::mlp_problem(nn::mlp({784, 256, 128, 10}, relu, 0.2)), {optim::Sgd{0.9}}, 128);
  const std::vector<Tensor> inputs = random_inputs(step, Key(4), -0.1, 0.1, 10);
  std::vector<Tensor> expected;
  for (kernels::Isa isa : kernels::available_isas()) {
    if (isa == kernels::Isa::kExact) continue;
    for (int threads : {1, 2, 3, 5}) {
      ThreadPool pool({.threads = threads});
      const std::vector<Tensor> got = compile(step, {isa})(inputs, &pool);
      if (expected.empty()) expected = got;
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(got[i].same_bits(expected[i]))
            << step.outputs()[i].name << ", " << name(isa) << ", " << threads << " threads";
    }
  }
}

TEST(SameBits, PermutedRowsGivePermutedResults) {
  const Function model = vmap(bind(digits_net().function(), digits_net().init(Key(1))), {0}, 20);
  const Tensor rows = random_tensor({Dtype::kF32, {20, 784}}, Key(5), 0, 1, 2);
  const Tensor reversed = Tensor::generate<float>({20, 784}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < 20; ++i)
      std::copy_n(rows.values<float>().begin() + static_cast<std::ptrdiff_t>((19 - i) * 784), 784,
                  out.begin() + static_cast<std::ptrdiff_t>(i * 784));
  });
  const Executable executable = compile(model);
  const Tensor a = executable(std::vector<Tensor>{rows})[0];
  const Tensor b = executable(std::vector<Tensor>{reversed})[0];
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_TRUE(a.rows(i, 1).same_bits(b.rows(19 - i, 1))) << i;
}

// ---- gradients of gradients

TEST(Gradients, OfGradientsOfAnMlp) {
  // d2/dx2 of a smooth network along x, against differences of its gradient.
  const Function f = trace("f", {{"x", {Dtype::kF64, {3}}}}, [](std::span<const Value> in) {
    Builder& b = in[0].builder();
    const auto weights = [&](const Shape& s, std::uint64_t k) {
      return constant(b, random_tensor({Dtype::kF64, s}, Key(k), -1, 1, 2));
    };
    const Value h = tanh(linear(in[0], weights({4, 3}, 1), weights({4}, 2)));
    return std::vector<Value>{reshape(linear(h, weights({1, 4}, 3)), {})};
  });
  const Function first = grad(f, {0});
  const Function second =
      grad(trace("g", first.inputs(),
                 [&](std::span<const Value> in) {
                   return std::vector<Value>{sum(in[0].builder().inline_function(first, in)[0])};
                 }),
           {0});
  const std::vector<double> x{0.3, -0.2, 0.9};
  const double step = 1e-5;
  const auto at = [&](double d, std::size_t i) {
    std::vector<double> y = x;
    y[i] += d;
    double total = 0;
    const Tensor gradient = interpret(first, std::vector<Tensor>{Tensor::from<double>({3}, y)})[0];
    for (double v : gradient.values<double>()) total += v;
    return total;
  };
  const Tensor exact = interpret(second, std::vector<Tensor>{Tensor::from<double>({3}, x)})[0];
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(exact.values<double>()[i], (at(step, i) - at(-step, i)) / (2 * step), 1e-8);
}

}  // namespace
}  // namespace limpid::laws
