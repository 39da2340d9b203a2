// Models as PyTorch exports them give PyTorch's outputs, and state_dicts are our layers'
// parameters. make_fixtures.py says where the numbers are from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "limpid/compile/compiled.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/formats/safetensors.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/attention.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/feed_forward.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "tests/formats/helpers.h"
#include "tests/onnx_export/difference.h"
#include "tests/source_folder.h"

namespace limpid::testing {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-5;
const fs::path kFolder = source_folder() / "tests/pytorch";

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder / "models"))
    if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class PyTorchModels : public ::testing::TestWithParam<std::string> {};

Tensor run(const fs::path& path, const Tensor& x) {
  onnx::ImportOptions options;
  options.dimensions["N"] = x.shape()[0];
  const onnx::Imported model = onnx::load_onnx(path, options);
  EXPECT_TRUE(model.fixed.empty() && !model.random);
  std::vector<Tensor> inputs = model.params.values();
  inputs.push_back(x);
  return compile(model.function)(inputs).front();
}

TEST_P(PyTorchModels, GiveItsOutputsInEveryBatch) {
  const fs::path path = kFolder / "models" / (GetParam() + ".onnx");
  const Params expected =
      load_safetensors(fs::path(path).replace_extension(".safetensors")).tensors;
  EXPECT_LE(difference(run(path, expected.at("x")), expected.at("y")), kTolerance);
  EXPECT_LE(difference(run(path, expected.at("x1")), expected.at("y1")), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(All, PyTorchModels, ::testing::ValuesIn(models()),
                         [](const auto& test) { return test.param; });

// ---- state_dict

// The parameters of a state_dict, and the example of the layer beside them.
struct State {
  Params params;
  Tensor x, y;
};

State state(const std::string& name) {
  State s;
  for (const auto& [key, tensor] :
       load_safetensors(kFolder / "state" / (name + ".safetensors")).tensors)
    if (key == "test.x")
      s.x = tensor;
    else if (key == "test.y")
      s.y = tensor;
    else
      s.params.set(key, tensor);
  return s;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

// The names are the layer's own, and with these parameters it gives what PyTorch's gives.
template <class Apply>
void expect_same(const std::string& name, const Params& own, const Apply& apply) {
  SCOPED_TRACE(name);
  const State s = state(name);
  EXPECT_EQ(sorted(s.params.names()), sorted(own.names()));
  std::vector<Input> inputs = nn::inputs_of(s.params);
  inputs.push_back({"x", s.x.type()});
  const Function f = trace(name, inputs, [&](std::span<const Value> in) {
    return std::vector<Value>{apply(nn::args_of(s.params, in.first(s.params.size())), in.back())};
  });
  std::vector<Tensor> values = s.params.values();
  values.push_back(s.x);
  EXPECT_LE(difference(compile(f)(values).front(), s.y), kTolerance);
}

template <class Layer>
void expect_same_layer(const std::string& name, const Layer& layer) {
  expect_same(name, layer.init(Key(0)), [&](const Args& args, Value x) { return layer(args, x); });
}

TEST(PyTorchState, NamesAndNumbersAreThoseOfOurLayers) {
  expect_same_layer("mlp", nn::mlp({6, 8, 7, 4}, relu));
  expect_same_layer("sequential",
                    nn::sequential(nn::Linear{6, 8}, relu, nn::LayerNorm{8}, nn::Linear{8, 4}));
  expect_same_layer("layer_norm", nn::LayerNorm{6});
  expect_same_layer("group_norm", nn::GroupNorm{2, 6});
  expect_same_layer("embedding", nn::Embedding{9, 5});
  expect_same_layer("attention", nn::MultiHeadAttention{.features = 12, .heads = 3});
  expect_same_layer("feed_forward", nn::FeedForward{6, 20});
  expect_same_layer("gated", nn::GatedFeedForward{6, 10});
  const nn::BatchNorm norm{6};
  Params own = norm.init(Key(0));
  own.merge("", norm.init_state());
  expect_same("batch_norm", own,
              [&](const Args& args, Value x) { return norm.inference(args, args, x); });
}

// written_mlp.safetensors is what PyTorch's load_state_dict was seen to take.
TEST(PyTorchState, OurFilesAreStateDicts) {
  const nn::Mlp net = nn::mlp({6, 8, 4}, relu);
  Params tensors = net.init(Key(5));
  const Tensor x = random_tensor({Dtype::kF32, {3, 6}}, Key(6));
  const Tensor y = compile(net)(tensors, x);
  tensors.set("test.x", x);
  tensors.set("test.y", y);
  const TemporaryFolder folder;
  save_safetensors(folder / "mlp.safetensors", {tensors, {}});
  EXPECT_EQ(read(folder / "mlp.safetensors"), read(kFolder / "state/written_mlp.safetensors"));
}

}  // namespace
}  // namespace limpid::testing
