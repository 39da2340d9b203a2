// Normalisation and attention layers beside PyTorch's: values, every gradient, running statistics.
#include "limpid/nn/attention.h"
#include "limpid/nn/norm.h"
#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

struct LayerCase {
  std::string name;
  std::string x, up, features;
  bool bias;
  std::function<Value(const Args& params, const Args& state, Value x)> layer;
};

std::vector<LayerCase> layer_cases() {
  const auto stateless = [](const auto& layer) {
    return [=](const Args& params, const Args&, Value x) { return layer(params, x); };
  };
  const nn::BatchNorm batch{6};
  return {{"layer_norm", "rows", "up.rows", "10", true, stateless(nn::LayerNorm{10})},
          {"rms_norm", "rows", "up.rows", "10", false, stateless(nn::RmsNorm{10})},
          {"group_norm", "images", "up.images", "6", true, stateless(nn::GroupNorm{2, 6})},
          {"batch_norm", "images", "up.images", "6", true,
           [=](const Args& p, const Args& s, Value x) { return batch(p, s, x).y; }},
          {"batch_norm_inference", "images", "up.images", "6", true,
           [=](const Args& p, const Args& s, Value x) { return batch.inference(p, s, x); }}};
}

// The fixture with the names that a case's gradients have.
Params renamed(const Params& golden, const LayerCase& c) {
  Params all = golden;
  all.set("x", golden.at(c.x));
  all.set("weight", golden.at("weight." + c.features));
  if (c.bias) all.set("bias", golden.at("bias." + c.features));
  return all;
}

TEST(Norms, ValuesAndGradientsAgree) {
  for (const LayerCase& c : layer_cases()) {
    const Params golden = renamed(fixture("norms"), c);
    std::vector<std::string> inputs{"x", "weight", "running_mean", "running_var"};
    if (c.bias) inputs.insert(inputs.begin() + 2, "bias");
    const auto code = [&](const Args& in) { return c.layer(in, in, in.at("x")); };
    expect_case<double>(golden, c.name, ".y", inputs, c.up, code, 1e-13);
    expect_case<float>(golden, c.name, ".y", inputs, c.up, code, 4e-6);
  }
}

TEST(Norms, RunningStatisticsAgree) {
  const Params golden = fixture("norms");
  const std::vector<std::string> names{"images", "weight.6", "bias.6", "running_mean",
                                       "running_var"};
  std::vector<Input> types;
  std::vector<Tensor> inputs;
  for (const std::string& name : names) {
    types.push_back({name, golden.at(name).type()});
    inputs.push_back(golden.at(name));
  }
  const Function f = trace("statistics", types, [](std::span<const Value> in) {
    return nn::BatchNorm{6}({{"weight", in[1]}, {"bias", in[2]}},
                            {{"running_mean", in[3]}, {"running_var", in[4]}}, in[0])
        .state.values();
  });
  const std::vector<Tensor> got = interpret(f, inputs);
  expect_values<double>(got[0], golden.at("batch_norm.running_mean"), 1e-14, "mean");
  expect_values<double>(got[1], golden.at("batch_norm.running_var"), 1e-14, "variance");
}

TEST(Attention, ValuesAndGradientsAgree) {
  const Params golden = fixture("attention");
  const std::vector<std::string> parameters{"in_proj_weight", "in_proj_bias", "out_proj.weight",
                                            "out_proj.bias"};
  for (const std::string name : {"self", "causal", "cross"}) {
    const nn::MultiHeadAttention layer{.features = 8, .heads = 2, .causal = name == "causal"};
    std::vector<std::string> inputs{"x"};
    if (name == "cross") inputs.push_back("memory");
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    const auto code = [&](const Args& in) {
      return name == "cross" ? layer.attend(in, in.at("x"), in.at("memory"), {})
                             : layer(in, in.at("x"));
    };
    expect_case<double>(golden, name, ".y", inputs, "up", code, 1e-13);
    expect_case<float>(golden, name, ".y", inputs, "up", code, 4e-6);
  }
}

}  // namespace
}  // namespace limpid::golden
