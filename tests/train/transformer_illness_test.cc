// The probe's statistics of attention and of the residual stream, and the doctor's rules on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "limpid/compile/executable.h"
#include "limpid/nn/attention.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/train/diagnostics/doctor.h"
#include "limpid/train/diagnostics/probe.h"

namespace limpid::train {
namespace {

constexpr std::int64_t kRows = 3, kContext = 12;

nn::Gpt small_net() {
  nn::Gpt net{.vocabulary = 7, .context = kContext, .layers = 3, .width = 16};
  net.heads = 2;
  return net;
}

// Multiplies every parameter whose name ends in this by a number.
Params scaled(Params params, std::string_view ending, float factor) {
  for (const std::string& name : params.names()) {
    if (!name.ends_with(ending)) continue;
    const Tensor before = params.at(name);
    params.set(name, Tensor::generate<float>(before.shape(), [&](std::span<float> out) {
                 for (std::size_t i = 0; i < out.size(); ++i)
                   out[i] = factor * before.values<float>()[i];
               }));
  }
  return params;
}

// The probe of a step that subtracts a hundredth of these parameters.
std::vector<LayerStatistics> statistics_of(const nn::Gpt& net, const Params& params) {
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"tokens", {Dtype::kI32, {kRows, kContext}}});
  const Function loss = trace("loss", inputs, [&](std::span<const Value> in) {
    const Value logits = net(nn::args_of(params, in), in.back());
    return std::vector<Value>{mean(softmax_cross_entropy(logits, in.back()))};
  });
  const Tensor tokens =
      Tensor::generate<std::int32_t>({kRows, kContext}, [](std::span<std::int32_t> out) {
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = static_cast<std::int32_t>((i * i + i / 5) % 7);
      });
  std::vector<const void*> pointers;
  for (const auto& [name, value] : params) pointers.push_back(value.bytes().data());
  pointers.push_back(tokens.bytes().data());
  const Params next = scaled(params, "", 0.99f);
  for (const auto& [name, value] : next) pointers.push_back(value.bytes().data());
  return Probe(loss, params.size())(pointers);
}

const LayerStatistics& layer(const std::vector<LayerStatistics>& all, std::string_view name) {
  return *std::find_if(all.begin(), all.end(),
                       [&](const LayerStatistics& l) { return l.name == name; });
}

std::vector<Finding> findings_of(const std::vector<LayerStatistics>& layers) {
  RunLog log;
  log.run.task = "next_token";
  log.probes = {{5, layers}};
  return diagnose(log);
}

TEST(TransformerIllness, AFreshTransformerIsHealthy) {
  const nn::Gpt net = small_net();
  const std::vector<LayerStatistics> layers = statistics_of(net, net.init(Key(1)));
  for (const Finding& f : findings_of(layers)) ADD_FAILURE() << f.rule << ": " << f.symptom;
  // Small weights attend to everything equally.
  for (const char* name : {"layers.0.self_attn", "layers.2.self_attn"}) {
    ASSERT_EQ(layer(layers, name).attention.size(), 1u);
    const AttentionStatistics& a = layer(layers, name).attention[0];
    EXPECT_NEAR(a.entropy, 1, 1e-3);
    EXPECT_LE(a.lowest_head, a.entropy);
    EXPECT_GE(a.highest_head, a.entropy);
    EXPECT_LE(a.highest_head, 1 + 1e-6);
  }
}

TEST(TransformerIllness, EntropyIsThatOfTheWeights) {
  // Two heads of one number; the queries of head 0 are 0, those of head 1 are 1.
  const Tensor q = Tensor::from<float>({1, 2, 3, 1}, {0, 0, 0, 1, 1, 1});
  const Tensor k = Tensor::from<float>({1, 2, 3, 1}, {5, 6, 7, 0, std::log(3.0f), 0});
  const Tensor weight = Tensor::from<float>({1}, {1});
  const std::vector<Input> inputs{
      {"layer.weight", weight.type()}, {"q", q.type()}, {"k", k.type()}};
  const Function loss = trace("loss", inputs, [](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "layer");
    const Value w = broadcast(in[0], in[1].shape());
    return std::vector<Value>{
        mean(scaled_dot_product_attention(in[1] * w, in[2], in[2], {.causal = true, .scale = 1}))};
  });
  const std::vector<const void*> pointers{weight.bytes().data(), q.bytes().data(), k.bytes().data(),
                                          weight.bytes().data()};
  const std::vector<LayerStatistics> layers = Probe(loss, 1)(pointers);
  ASSERT_EQ(layers.size(), 1u);
  ASSERT_EQ(layers[0].attention.size(), 1u);
  // Head 0: uniform. Head 1, query 1: weights 1/4 and 3/4; query 2: 1/5, 3/5, 1/5. Query 0 sees
  // one.
  const auto part = [](double p) { return -p * std::log(p); };
  const double second = (part(0.25) + part(0.75)) / std::log(2.0);
  const double third = (2 * part(0.2) + part(0.6)) / std::log(3.0);
  const double low = (second + third) / 2;
  EXPECT_NEAR(layers[0].attention[0].highest_head, 1, 1e-6);
  EXPECT_NEAR(layers[0].attention[0].lowest_head, low, 1e-6);
  EXPECT_NEAR(layers[0].attention[0].entropy, (1 + low) / 2, 1e-6);
}

TEST(TransformerIllness, AttentionCollapse) {
  const nn::Gpt net = small_net();
  const Params params = scaled(scaled(net.init(Key(1)), "1.self_attn.q_proj.weight", 300),
                               "1.self_attn.k_proj.weight", 300);
  const std::vector<Finding> findings = findings_of(statistics_of(net, params));
  ASSERT_EQ(findings.size(), 1u) << findings.back().rule << ": " << findings.back().symptom;
  EXPECT_EQ(findings[0].rule, "attention_collapse");
  EXPECT_EQ(findings[0].layer, "layers.1.self_attn");
}

TEST(TransformerIllness, ResidualGrowth) {
  const nn::Gpt net = small_net();
  const Params healthy = net.init(Key(1));
  const std::vector<LayerStatistics> layers = statistics_of(net, healthy);
  std::vector<std::string> streams;
  for (const LayerStatistics& l : layers)
    for (const ActivationStatistics& a : l.activations)
      if (a.op == "residual") streams.push_back(l.name);
  EXPECT_EQ(streams, (std::vector<std::string>{"layers.0", "layers.0", "layers.1", "layers.1",
                                               "layers.2", "layers.2"}));
  const Params params = scaled(healthy, "layers.2.mlp.down_proj.weight", 3000);
  const std::vector<Finding> findings = findings_of(statistics_of(net, params));
  ASSERT_EQ(findings.size(), 1u) << findings.back().rule << ": " << findings.back().symptom;
  EXPECT_EQ(findings[0].rule, "residual_growth");
  EXPECT_EQ(findings[0].layer, "layers.2");
}

}  // namespace
}  // namespace limpid::train
