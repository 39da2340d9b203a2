// A low-rank adapter beside PyTorch's numbers, which make_lora_fixtures.py writes.
#include "limpid/nn/lora.h"

#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

TEST(LoraGolden, HasPyTorchsValueAndGradients) {
  const Params all = fixture("lora");
  const std::vector<std::string> names{"x", "lora_A", "lora_B", "weight", "up"};
  std::vector<Input> inputs;
  std::vector<Tensor> values;
  for (const std::string& name : names) {
    inputs.push_back({name, all.at(name).type()});
    values.push_back(all.at(name));
  }
  const double scale = nn::Lora{.rank = 2, .alpha = 3}.scale();
  const Function f = trace("f", inputs, [&](std::span<const Value> in) {
    const Value y = linear(in[0], nn::adapted_weight(in[3], in[1], in[2], scale));
    return std::vector<Value>{sum(y * in[4]), y};
  });
  const std::vector<Tensor> results = compile(value_and_grad(f, {0, 1, 2}))(values);
  expect_close(results[1], all.at("y"), 1e-6, 1e-6, "y");
  expect_close(results[2], all.at("dx"), 1e-6, 1e-6, "dx");
  expect_close(results[3], all.at("da"), 1e-6, 1e-6, "da");
  expect_close(results[4], all.at("db"), 1e-6, 1e-6, "db");
}

}  // namespace
}  // namespace limpid::golden
