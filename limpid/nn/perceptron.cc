#include "limpid/nn/perceptron.h"

#include <fmt/format.h>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/activation.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/shape.h"

namespace limpid::nn {
namespace {

constexpr const char* kWeight = "weight";
constexpr const char* kBias = "bias";

// (parameters, x, target) to (parameters, answer).
Function learning_step(const Perceptron& perceptron, double rate) {
  const std::vector<Input> inputs{{kWeight, {Dtype::kF32, {1, perceptron.inputs}}},
                                  {kBias, {Dtype::kF32, {1}}},
                                  {"x", {Dtype::kF32, {perceptron.inputs}}},
                                  {"target", {Dtype::kF32, {}}}};
  return trace("perceptron", inputs, [&](std::span<const Value> in) {
    const Args params{{kWeight, in[0]}, {kBias, in[1]}};
    std::vector<Value> results = perceptron.learn(params, in[2], in[3], rate).values();
    results.push_back(perceptron(params, in[2]));
    return results;
  });
}

}  // namespace

Params Perceptron::init() const {
  return {{kWeight, Tensor::zeros({Dtype::kF32, {1, inputs}})},
          {kBias, Tensor::zeros({Dtype::kF32, {1}})}};
}

Value Perceptron::operator()(const Args& params, Value x) const {
  const Value z = linear(x, params.at(kWeight), params.at(kBias));
  return step(reshape(z, x.shape().erase(x.rank() - 1)));
}

Args Perceptron::learn(const Args& params, Value x, Value target, double rate) const {
  const Value error = (target - (*this)(params, x)) * rate;
  return {{kWeight, params.at(kWeight) + error * x}, {kBias, params.at(kBias) + error}};
}

PerceptronRun train_perceptron(const Perceptron& perceptron, const Tensor& x, const Tensor& targets,
                               std::int64_t epochs, double rate,
                               const std::function<void()>& between) {
  if (x.shape().rank() != 2 || x.shape()[1] != perceptron.inputs ||
      !(targets.shape() == Shape{x.shape()[0]}))
    throw Error(
        ErrorCode::kShape,
        fmt::format("train_perceptron: examples are {}, targets {}; expected [n, {}] and [n]",
                    to_string(x.type()), to_string(targets.type()), perceptron.inputs));
  const Executable step = compile(learning_step(perceptron, rate));
  Params params = perceptron.init();
  PerceptronRun run;
  for (std::int64_t e = 0; e < epochs; ++e) {
    std::int64_t mistakes = 0;
    for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
      if (between) between();
      const Tensor target = targets.rows(i, 1).reshape({});
      const std::vector<Tensor> results = step(std::vector<Tensor>{
          params.at(kWeight), params.at(kBias), x.rows(i, 1).reshape({perceptron.inputs}), target});
      params.set(kWeight, results[0]);
      params.set(kBias, results[1]);
      mistakes += results[2].item<float>() != target.item<float>();
    }
    run.params.push_back(params);
    run.mistakes.push_back(mistakes);
    if (mistakes == 0) break;
  }
  return run;
}

std::optional<Return> first_return(const PerceptronRun& run) {
  const auto same = [&](std::size_t a, std::size_t b) {
    return run.params[a].at(kWeight).same_bits(run.params[b].at(kWeight)) &&
           run.params[a].at(kBias).same_bits(run.params[b].at(kBias));
  };
  for (std::size_t epoch = 1; epoch < run.params.size(); ++epoch)
    for (std::size_t earlier = 0; earlier < epoch; ++earlier)
      if (run.mistakes[epoch] > 0 && same(epoch, earlier)) return Return{epoch, earlier};
  return std::nullopt;
}

}  // namespace limpid::nn
