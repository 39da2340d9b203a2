// Convolutional networks beside PyTorch's. make_cnn_fixtures.py writes what they are compared with.
#include "limpid/nn/cnn.h"

#include "limpid/nn/mlp.h"
#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

class CnnGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(CnnGolden, HasThePaperValues) {
  const Params all = fixture("cnn");
  const auto preset = from_name<nn::CnnPreset>(GetParam());
  const nn::Cnn net{
      .picture = {2, 16, 16},
      .outputs = 3,
      .preset = preset,
      .filters = 2,
      .norm = preset == nn::CnnPreset::kLenet ? nn::CnnNorm::kNone : nn::CnnNorm::kBatch};
  const Params known = all.within(GetParam());
  Params params, state;
  for (const auto& [name, value] : net.init(Key(0))) params.set(name, known.at(name));
  for (const auto& [name, value] : net.init_state()) state.set(name, known.at(name));
  EXPECT_EQ(params.size() + state.size() + 2, known.size());

  std::vector<Input> inputs = nn::inputs_of(params);
  for (const Input& input : nn::inputs_of(state)) inputs.push_back(input);
  inputs.push_back({"x", all.at("x").type()});
  const Function f = trace("both", inputs, [&](std::span<const Value> in) {
    const Args trained = nn::args_of(params, in.first(params.size()));
    const Args running = nn::args_of(state, in.subspan(params.size(), state.size()));
    Args every = trained;
    every.merge("", running);
    const Value key = constant(in[0].builder(), 0, Dtype::kI64);
    return std::vector<Value>{net(every, in.back()),
                              net.training(trained, running, in.back(), key).logits};
  });
  std::vector<Tensor> values = params.values();
  for (const Tensor& value : state.values()) values.push_back(value);
  values.push_back(all.at("x"));
  const std::vector<Tensor> results = compile(f)(values);
  expect_close(results[0], known.at("eval"), 1e-4, 1e-4, "at inference");
  expect_close(results[1], known.at("train"), 1e-3, 1e-3, "in training");
}

INSTANTIATE_TEST_SUITE_P(Presets, CnnGolden, ::testing::ValuesIn(all_names<nn::CnnPreset>()),
                         [](const auto& preset) { return preset.param; });

}  // namespace
}  // namespace limpid::golden
