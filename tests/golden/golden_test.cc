// PyTorch's results against Limpid's: training, activations, losses. make_fixtures.py describes the
// files.
#include <gtest/gtest.h>

#include <cmath>

#include "limpid/data/batches.h"
#include "limpid/nn/mlp.h"
#include "limpid/optim/optimizer.h"
#include "limpid/train/loop/step.h"
#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

// ---- a hundred steps

struct Case {
  std::string name;
  optim::Optimizer optimizer;
  float rate;
};

class Training : public ::testing::TestWithParam<Case> {};

TEST_P(Training, LossesOfAHundredStepsAgree) {
  const Params task = fixture("mlp_task");
  const Params expected = fixture("mlp_" + GetParam().name);
  const optim::Optimizer& optimizer = GetParam().optimizer;
  const nn::Mlp net = nn::mlp({20, 16, 12, 5}, relu);
  Params carried;
  for (const Input& i : net.function().inputs())
    if (i.name != "x") carried.set(i.name, task.at(i.name));
  const std::size_t parameters = carried.size();
  carried.merge("", optim::init(optimizer, carried));

  const Executable step = compile(train::step_function(train::mlp_problem(net), {optimizer}, 32));
  const auto losses = expected.at("losses").values<float>();
  for (std::int64_t s = 0; s < 100; ++s) {
    const Tensor batch = task.at("batches").rows(s, 1);
    std::vector<Tensor> inputs = carried.values();
    inputs.push_back(gather_rows(task.at("x"), batch.values<std::int32_t>()));
    inputs.push_back(gather_rows(task.at("y"), batch.values<std::int32_t>()));
    inputs.push_back(key_tensor(Key(0)));
    inputs.push_back(Tensor::scalar(GetParam().rate));
    const std::vector<Tensor> outputs = step(inputs);
    std::size_t i = 0;
    for (const std::string& name : carried.names()) carried.set(name, outputs[i++]);
    const float loss = outputs[i].item<float>();
    ASSERT_NEAR(loss, losses[static_cast<std::size_t>(s)],
                1e-4 * std::fabs(losses[static_cast<std::size_t>(s)]))
        << "step " << s;
  }
  // Rounding grows over the steps; PyTorch's own f32 and f64 runs differ by as much.
  for (std::size_t p = 0; p < parameters; ++p) {
    const std::string name = carried.names()[p];
    const auto got = carried.at(name).values<float>();
    const auto want = expected.at(name).values<float>();
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], want[k], 1e-3) << name << " " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Optimisers, Training,
    ::testing::Values(Case{"sgd", optim::Sgd{}, 0.1f}, Case{"momentum", optim::Sgd{0.9}, 0.1f},
                      Case{"nesterov", optim::Sgd{0.9, 0, true}, 0.1f},
                      Case{"weight_decay", optim::Sgd{0.9, 0.01}, 0.1f},
                      Case{"rmsprop", optim::RmsProp{}, 0.003f}, Case{"adam", optim::Adam{}, 0.01f},
                      Case{"adamw", optim::AdamW{.weight_decay = 0.05}, 0.01f}),
    [](const ::testing::TestParamInfo<Case>& which) { return which.param.name; });

// ---- functions and their gradients

TEST(Activations, ValuesAndDerivativesAgree) {
  const Params golden = fixture("activations");
  const std::pair<std::string, Value (*)(Value)> functions[] = {
      {"relu", relu},
      {"leaky_relu", [](Value x) { return leaky_relu(x); }},
      {"gelu", gelu},
      {"silu", silu},
      {"sigmoid", sigmoid},
      {"tanh", tanh},
      {"elu", [](Value x) { return elu(x); }},
      {"selu", selu},
      {"gelu_tanh", gelu_tanh},
      {"softplus", softplus},
      {"mish", mish},
      {"relu6", relu6},
      {"hard_tanh", hard_tanh},
      {"hard_sigmoid", hard_sigmoid},
      {"hard_swish", hard_swish}};
  for (const std::string prefix : {"", "large."})
    for (const auto& [name, f] : functions) {
      const Tensor x = golden.at(prefix + "x");
      const Sampled got = sample(f, x, ones(x.shape()));
      // A few roundings each; GELU's and SiLU's tails and 1 - y^2 lose relative accuracy to
      // cancellation.
      expect_close(got.value, golden.at(prefix + name + ".y"), 4e-7, 1e-6, prefix + name);
      expect_close(got.gradient, golden.at(prefix + name + ".dy"), 1e-6, 2e-6, prefix + name + "'");
    }
}

TEST(Activations, SoftmaxFamilyAgrees) {
  const Params golden = fixture("activations");
  const std::pair<std::string, Value (*)(Value)> functions[] = {
      {"softmax", [](Value x) { return softmax(x); }},
      {"log_softmax", [](Value x) { return log_softmax(x); }}};
  for (const std::string prefix : {"rows.", "wide."})
    for (const auto& [name, f] : functions) {
      const Sampled got = sample(f, golden.at(prefix + "x"), golden.at(prefix + "up"));
      expect_close(got.value, golden.at(prefix + name + ".y"), 1e-6, 1e-7, prefix + name);
      expect_close(got.gradient, golden.at(prefix + name + ".dx"), 2e-6, 1e-6, prefix + name + "'");
    }
}

TEST(Losses, SoftmaxCrossEntropyAgrees) {
  const Params golden = fixture("cross_entropy");
  const Tensor& logits = golden.at("logits");
  const Tensor& labels = golden.at("labels");
  const Function loss = trace("loss", {{"logits", logits.type()}, {"labels", labels.type()}},
                              [](std::span<const Value> in) {
                                const Value rows = softmax_cross_entropy(in[0], in[1]);
                                return std::vector<Value>{mean(rows), rows};
                              });
  const std::vector<Tensor> inputs{logits, labels};
  const std::vector<Tensor> results = compile(value_and_grad(loss, {0}))(inputs);
  expect_close(results[0], golden.at("mean"), 1e-6, 0, "mean");
  expect_close(results[1], golden.at("loss"), 1e-6, 1e-6, "loss");
  expect_close(results[2], golden.at("grad"), 1e-6, 1e-8, "gradient");
}

}  // namespace
}  // namespace limpid::golden
