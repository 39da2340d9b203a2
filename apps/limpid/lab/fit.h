// Fits a network to a few points, with full batches and one compiled plan per step.
#pragma once

#include <functional>

#include "limpid/compile/executable.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "limpid/optim/optimizer.h"
#include "limpid/optim/schedule.h"
#include "limpid/transforms/grad.h"

namespace limpid::lab {

struct Task {
  Tensor x, y;
  std::function<Value(Value prediction, Value target)> loss;
};

struct Fitted {
  Params params;
  double loss;         // before the last step
  Tensor predictions;  // for the task's x
};

// (parameters, state, rate) to (parameters, state, loss).
template <nn::Layer L>
Function fit_step(const L& net, const Task& task, const Params& params,
                  const optim::Optimizer& optimizer) {
  const std::vector<Input> inputs = nn::inputs_of(params);
  std::vector<std::size_t> wrt(inputs.size());
  for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
  const Function loss = trace("loss", inputs, [&](std::span<const Value> in) {
    Builder& builder = in[0].builder();
    const Value prediction =
        nn::apply_layer(net, nn::args_of(params, in), constant(builder, task.x));
    return std::vector<Value>{task.loss(prediction, constant(builder, task.y))};
  });
  const Function with_gradients = value_and_grad(loss, wrt);
  const std::vector<Input> state = optim::state_inputs(optimizer, inputs);
  std::vector<Input> all = inputs;
  all.insert(all.end(), state.begin(), state.end());
  all.push_back({"rate", {Dtype::kF32, {}}});
  return trace("fit_step", all, [&](std::span<const Value> in) {
    const std::size_t n = inputs.size();
    const std::vector<Value> results = in[0].builder().inline_function(with_gradients, in.first(n));
    Args gradients, moments;
    for (std::size_t i = 0; i < n; ++i) gradients.set(inputs[i].name, results[1 + i]);
    for (std::size_t i = 0; i < state.size(); ++i) moments.set(state[i].name, in[n + i]);
    const optim::Update next =
        optim::update(optimizer, nn::args_of(params, in), gradients, moments, in.back());
    std::vector<Value> outputs = next.params.values();
    for (const auto& [name, value] : next.state) outputs.push_back(value);
    outputs.push_back(results[0]);
    return outputs;
  });
}

template <nn::Layer L>
Fitted fit(const L& net, const Task& task, const optim::Optimizer& optimizer,
           const optim::Schedule& schedule, Key key) {
  Params params = nn::init_layer(net, key);
  std::vector<Tensor> carried = params.values();
  const Params state = optim::init(optimizer, params);
  for (const auto& [name, value] : state) carried.push_back(value);
  const Executable step = compile(fit_step(net, task, params, optimizer));
  Fitted result{};
  for (std::int64_t s = 0; s < schedule.steps; ++s) {
    carried.push_back(Tensor::scalar(static_cast<float>(schedule.at(s))));
    carried = step(carried);
    result.loss = static_cast<double>(carried.back().item<float>());
    carried.pop_back();
  }
  std::size_t i = 0;
  for (const std::string& name : params.names()) params.set(name, carried[i++]);
  result.params = params;
  std::vector<Tensor> inputs = params.values();
  inputs.push_back(task.x);
  result.predictions = compile(nn::function_of(net, task.x.type()))(inputs)[0];
  return result;
}

}  // namespace limpid::lab
