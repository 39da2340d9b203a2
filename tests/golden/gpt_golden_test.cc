// Small transformers of each shape: logits, every gradient and twenty steps of AdamW beside
// PyTorch's.
#include "limpid/nn/gpt.h"

#include "limpid/train/loop/step.h"
#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

constexpr std::int64_t kRows = 3, kContext = 8, kSteps = 20;

struct Shape {
  std::string name;
  nn::Gpt net;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all{{"plain", {}}, {"gpt2", nn::gpt2_shaped()}, {"llama", nn::llama_shaped()}};
  for (Shape& shape : all) {
    shape.net.vocabulary = 13;
    shape.net.context = kContext;
    shape.net.layers = 2;
    shape.net.width = 8;
    shape.net.heads = 2;
  }
  all.back().net.kv_heads = 1;
  return all;
}

Params parameters_of(const Params& golden, const nn::Gpt& net) {
  Params params;
  for (const Input& p : net.parameters()) params.set(p.name, golden.at(p.name));
  return params;
}

// The windows of a step and what follows their tokens, i32 [rows, context] both.
std::vector<Tensor> batch(const Params& golden, std::int64_t step) {
  const Tensor tokens = golden.at("tokens").rows(step, 1).reshape({kRows, kContext + 1});
  const auto all = tokens.values<std::int32_t>();
  const auto part = [&](std::size_t first) {
    return Tensor::generate<std::int32_t>({kRows, kContext}, [&](std::span<std::int32_t> out) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = all[i / kContext * (kContext + 1) + i % kContext + first];
    });
  };
  return {part(0), part(1), Tensor::scalar(std::int64_t{0})};
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.elements(), want.elements()) << what;
  for (std::size_t i = 0; i < got.values<float>().size(); ++i)
    EXPECT_NEAR(static_cast<double>(got.values<float>()[i]), want.values<double>()[i], tolerance)
        << what << " " << i;
}

TEST(Gpt, LogitsAndGradientsAgree) {
  for (const auto& [name, net] : shapes()) {
    const Params golden = fixture("gpt_" + name);
    const Params params = parameters_of(golden, net);
    const std::vector<Tensor> first = batch(golden, 0);
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::vector<Tensor> inputs = params.values();
      inputs.push_back(first[0].rows(row, 1).reshape({kContext}));
      expect_near(compile(net.function())(inputs)[0], golden.at("logits").rows(row, 1), 5e-6,
                  name + " logits");
    }
    std::vector<Tensor> inputs = params.values();
    inputs.insert(inputs.end(), first.begin(), first.end());
    std::vector<std::size_t> wrt(params.size());
    for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
    const Function loss = train::loss_function(train::gpt_problem(net), kRows);
    const std::vector<Tensor> results = compile(value_and_grad(loss, wrt))(inputs);
    expect_near(results[0], golden.at("loss"), 2e-6, name + " loss");
    std::size_t i = 1;
    for (const auto& [parameter, value] : params)
      expect_near(results[i++], golden.at("grad." + parameter), 2e-6, name + " " + parameter);
  }
}

TEST(Gpt, TwentyStepsAgree) {
  for (const auto& [name, net] : shapes()) {
    const Params golden = fixture("gpt_" + name);
    const train::Problem problem = train::gpt_problem(net);
    const train::UpdateRule rule{
        optim::AdamW{.beta2 = 0.99, .weight_decay = 0.1, .decay_vectors = false}, {.norm = 1}};
    const Params start = parameters_of(golden, net);
    Params carried = start;
    carried.merge("", optim::init(rule.optimizer, start));
    const Function function = train::step_function(problem, rule, kRows);
    const Executable step = compile(function);
    const auto losses = golden.at("losses").values<double>();
    for (std::int64_t s = 0; s < kSteps; ++s) {
      std::vector<Tensor> inputs = carried.values();
      for (const Tensor& t : batch(golden, s)) inputs.push_back(t);
      inputs.push_back(Tensor::scalar(0.01f));
      const std::vector<Tensor> outputs = step(inputs);
      EXPECT_NEAR(static_cast<double>(outputs[function.output_index("loss")].item<float>()),
                  losses[static_cast<std::size_t>(s)], 2e-5)
          << name << " step " << s;
      std::size_t i = 0;
      for (const std::string& carried_name : carried.names())
        carried.set(carried_name, outputs[i++]);
    }
    EXPECT_LT(losses.back(), losses.front() - 0.3) << name;  // it had something to learn
  }
}

}  // namespace
}  // namespace limpid::golden
