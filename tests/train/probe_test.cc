// The probe's statistics against sums by hand; the probe is a separate Function.
#include "limpid/train/diagnostics/probe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limpid/data/digits.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/cnn.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/step.h"
#include "limpid/transforms/grad.h"

namespace limpid::train {
namespace {

Function loss_of(const nn::Mlp& net, const Params& params, std::int64_t batch) {
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"x", {Dtype::kF32, {batch, net.sizes.front()}}});
  inputs.push_back({"y", {Dtype::kI32, {batch}}});
  inputs.push_back({"key", {Dtype::kI64, {}}});
  return trace("loss", inputs, [&](std::span<const Value> in) {
    const std::size_t n = params.size();
    return std::vector<Value>{
        mean(softmax_cross_entropy(net(nn::args_of(params, in), in[n], in[n + 2]), in[n + 1]))};
  });
}

struct Sums {
  double mean = 0, std = 0, norm = 0;
};
Sums sums_of(const std::vector<double>& values) {
  Sums s;
  for (double v : values) s.mean += v / static_cast<double>(values.size());
  for (double v : values) {
    s.norm += v * v;
    s.std += (v - s.mean) * (v - s.mean) / static_cast<double>(values.size());
  }
  s.norm = std::sqrt(s.norm);
  s.std = std::sqrt(s.std);
  return s;
}
Sums sums_of(const Tensor& t) {
  const auto values = t.values<float>();
  return sums_of(std::vector<double>(values.begin(), values.end()));
}

// The probe's questions, and the tensors that it gets.
struct Case {
  nn::Mlp net;
  Params params;
  Function loss;
  std::vector<Tensor> inputs;  // of the probe

  Case(std::vector<std::int64_t> sizes, Value (*activation)(Value), double dropout, float scale) {
    net = nn::mlp(std::move(sizes), activation, dropout);
    const Params drawn = net.init(Key(3));
    for (const auto& [name, value] : drawn)
      params.set(name,
                 Tensor::generate<float>(value.shape(), [&, &value = value](std::span<float> out) {
                   for (std::size_t i = 0; i < out.size(); ++i)
                     out[i] = scale * value.values<float>()[i];
                 }));
    constexpr std::int64_t kBatch = 16;
    loss = loss_of(net, params, kBatch);
    const Dataset data = digits(Key(1), kBatch);
    inputs = params.values();
    inputs.push_back(data.inputs);
    inputs.push_back(data.targets);
    inputs.push_back(Tensor::scalar<std::int64_t>(7));
    for (const auto& [name, value] : params)
      inputs.push_back(
          Tensor::generate<float>(value.shape(), [&, &value = value](std::span<float> out) {
            for (std::size_t i = 0; i < out.size(); ++i)
              out[i] = value.values<float>()[i] * 0.75f + 0.01f;
          }));
  }

  std::vector<LayerStatistics> statistics() const {
    Probe probe(loss, params.size());
    std::vector<const void*> pointers;
    for (const Tensor& t : inputs) pointers.push_back(t.bytes().data());
    return probe(pointers);
  }
};

// Of pictures the units are channels: one whose bias is far below 0 is dead, though each of its
// positions would be counted otherwise.
TEST(Probe, ChannelsAreTheUnitsOfPictures) {
  constexpr std::int64_t kBatch = 8;
  const nn::Cnn net{.picture = {1, 28, 28},
                    .outputs = 10,
                    .preset = nn::CnnPreset::kLenet,
                    .filters = 4,
                    .norm = nn::CnnNorm::kNone};
  Params params = net.init(Key(5));
  params.set("blocks.0.0.conv.bias", Tensor::from<float>({4}, {-1e3f, 0.5f, 0.5f, 0.5f}));
  Problem problem = cnn_problem(net);
  const Function loss = loss_function(problem, kBatch);
  const Dataset data = digits(Key(1), kBatch);
  std::vector<Tensor> inputs = params.values();
  inputs.push_back(data.inputs.reshape({kBatch, 1, 28, 28}));
  inputs.push_back(data.targets);
  inputs.push_back(Tensor::scalar<std::int64_t>(7));
  for (const Tensor& value : params.values()) inputs.push_back(value);
  Probe probe(loss, params.size());
  std::vector<const void*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(t.bytes().data());
  const std::vector<LayerStatistics> layers = probe(pointers);
  const auto named = [&](std::string_view name) -> const LayerStatistics& {
    return *std::find_if(layers.begin(), layers.end(),
                         [&](const LayerStatistics& layer) { return layer.name == name; });
  };
  EXPECT_EQ(named("blocks.0.0.conv").activations.size(), 2u);  // its input, too
  const std::vector<ActivationStatistics>& first = named("blocks.0.0").activations;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].op, "relu");
  EXPECT_EQ(first[0].dead_share, 0.25);
  EXPECT_GE(first[0].zero_share, 0.25);
  EXPECT_EQ(named("head.2").activations.size(), 1u);
}

TEST(Probe, ParametersGradientsAndUpdates) {
  const Case c({784, 12, 10}, relu, 0.25, 1);
  const std::vector<LayerStatistics> layers = c.statistics();
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].name, "layers.0");
  std::vector<std::size_t> wrt{0, 1, 2, 3};
  const std::vector<Tensor> gradients =
      interpret(value_and_grad(c.loss, wrt), std::span(c.inputs).first(7));
  std::size_t i = 0;
  for (const LayerStatistics& layer : layers)
    for (const ParameterStatistics& p : layer.parameters) {
      const Tensor& before = c.inputs[i];
      const Tensor& after = c.inputs[7 + i];
      EXPECT_EQ(p.name, c.params.names()[i]);
      EXPECT_NEAR(p.mean, sums_of(before).mean, 1e-6);
      EXPECT_NEAR(p.std, sums_of(before).std, 1e-6);
      EXPECT_NEAR(p.norm, sums_of(before).norm, 1e-5);
      EXPECT_NEAR(p.gradient_norm, sums_of(gradients[1 + i]).norm, 1e-5);
      std::vector<double> update;
      for (std::size_t e = 0; e < before.values<float>().size(); ++e)
        update.push_back(static_cast<double>(after.values<float>()[e] - before.values<float>()[e]));
      EXPECT_NEAR(p.update_norm, sums_of(update).norm, 1e-5);
      ++i;
    }
  EXPECT_EQ(i, 4u);
}

TEST(Probe, ActivationsOfAReluNetwork) {
  Case c({784, 12, 10}, relu, 0.25, 1);
  // Unit 5 is always 0.
  const Tensor bias = c.inputs[1];
  c.inputs[1] = Tensor::generate<float>(bias.shape(), [&](std::span<float> out) {
    std::copy(bias.values<float>().begin(), bias.values<float>().end(), out.begin());
    out[5] = -1000;
  });
  const std::vector<LayerStatistics> layers = c.statistics();
  ASSERT_EQ(layers[0].activations.size(), 3u);
  ASSERT_EQ(layers[1].activations.size(), 1u);
  std::vector<Tensor> seen;
  interpret(c.loss, std::span(c.inputs).first(7),
            [&](const Node& node, std::size_t, const Tensor& value) {
              if (node.op->name == "linear" || node.op->name == "relu") seen.push_back(value);
            });
  ASSERT_EQ(seen.size(), 3u);
  const ActivationStatistics& hidden = layers[0].activations[2];
  EXPECT_EQ(layers[0].activations[1].op, "linear");
  EXPECT_EQ(hidden.op, "relu");
  EXPECT_EQ(layers[0].activations[0].op, "input");
  EXPECT_NEAR(layers[0].activations[0].std, sums_of(c.inputs[4]).std, 1e-5);
  EXPECT_NEAR(layers[0].activations[1].std, sums_of(seen[0]).std, 1e-4);
  EXPECT_NEAR(hidden.mean, sums_of(seen[1]).mean, 1e-4);
  EXPECT_NEAR(hidden.std, sums_of(seen[1]).std, 1e-4);
  double zeros = 0;
  std::vector<bool> alive(12);
  const auto values = seen[1].values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    zeros += values[i] == 0;
    if (values[i] != 0) alive[i % 12] = true;
  }
  EXPECT_FALSE(alive[5]);
  EXPECT_NEAR(hidden.zero_share, zeros / static_cast<double>(values.size()), 1e-12);
  EXPECT_NEAR(hidden.dead_share,
              static_cast<double>(std::count(alive.begin(), alive.end(), false)) / 12, 1e-12);
  EXPECT_EQ(layers[1].activations[0].op, "linear");
  EXPECT_NEAR(layers[1].activations[0].mean, sums_of(seen[2]).mean, 1e-4);
}

TEST(Probe, SaturationIsWhereTheSlopeIsFlat) {
  const Case c({784, 12, 10}, tanh, 0, 20);
  double flat = 0;
  interpret(c.loss, std::span(c.inputs).first(7),
            [&](const Node& node, std::size_t, const Tensor& value) {
              if (node.op->name != "tanh") return;
              for (float y : value.values<float>()) flat += 1 - y * y < nn::kFlat;
              flat /= static_cast<double>(value.elements());
            });
  EXPECT_GT(flat, 0.3);
  EXPECT_NEAR(c.statistics()[0].activations[2].saturated_share, flat, 1e-12);
}

TEST(Probe, KnowsActivationsThatAreCallsOfAnotherOp) {
  const Case c({784, 12, 10}, nn::activation_from_name("hard_tanh").apply, 0, 20);
  const ActivationStatistics hidden = c.statistics()[0].activations[2];
  EXPECT_EQ(hidden.op, "hard_tanh");
  EXPECT_GT(hidden.saturated_share, 0.3);
}

// Its last dimension is that of the batch.
TEST(Probe, HasNoUnitsOfAVector) {
  const Input w{"out.weight", {Dtype::kF32, {1, 3}}}, x{"x", {Dtype::kF32, {4, 3}}};
  const Function loss = trace("loss", {w, x}, [](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "out");
    const Value rows = linear(in[1], in[0]);
    return std::vector<Value>{mean(relu(reshape(rows, {4})))};
  });
  const Tensor weight = Tensor::zeros(w.type), inputs = Tensor::zeros(x.type);
  const std::vector<const void*> pointers{weight.bytes().data(), inputs.bytes().data(),
                                          weight.bytes().data()};
  const std::vector<LayerStatistics> layers = Probe(loss, 1)(pointers);
  ASSERT_EQ(layers.size(), 1u);
  std::vector<std::string> ops;
  for (const ActivationStatistics& a : layers[0].activations) ops.push_back(a.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"input", "linear"}));
}

TEST(Probe, IsTheInterpretersBitForBit) {
  const Case c({784, 12, 10}, gelu, 0.5, 1);
  const ProbeFunction probe = probe_function(c.loss, 4);
  const std::vector<Tensor> interpreted = interpret(probe.function, c.inputs);
  const std::vector<Tensor> compiled = compile(probe.function)(c.inputs);
  for (std::size_t i = 0; i < compiled.size(); ++i)
    EXPECT_TRUE(compiled[i].same_bits(interpreted[i])) << i;
}

}  // namespace
}  // namespace limpid::train
