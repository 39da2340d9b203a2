#include "limpid/train/loop/step.h"

#include <numeric>

#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"
#include "limpid/optim/step.h"
#include "limpid/transforms/grad.h"

namespace limpid::train {
namespace {

constexpr const char* kSum = "accumulated";  // no optimizer has a state of that name
constexpr const char* kLoss = "loss";
constexpr const char* kLossSum = "loss_sum";

using Inputs = std::vector<Input>;

void append(Inputs& all, const Inputs& more) { all.insert(all.end(), more.begin(), more.end()); }

std::vector<std::string> names_of(const Inputs& inputs) {
  std::vector<std::string> names;
  for (const Input& i : inputs) names.push_back(i.name);
  return names;
}

// "x", "y" and "key".
Inputs batch_inputs(const Problem& problem, std::int64_t rows) {
  const Type& x = problem.example().type;
  const Type y = problem.mixed_target.value_or(problem.target);
  return {{"x", {x.dtype, x.shape.insert(0, rows)}},
          {"y", {y.dtype, y.shape.insert(0, rows)}},
          {"key", {Dtype::kI64, {}}}};
}

// The values of a Function's inputs by name, as they are read one after the other.
class InputReader {
 public:
  explicit InputReader(std::span<const Value> values) : values_(values) {}
  Args next(const Inputs& inputs) {
    Args args;
    for (const Input& i : inputs) args.set(i.name, values_[at_++]);
    return args;
  }
  Value next() { return values_[at_++]; }

 private:
  std::span<const Value> values_;
  std::size_t at_ = 0;
};

// The loss of one batch, its non-trainable state, and the gradients of the parameters.
struct Gradients {
  Value loss;
  Args non_trainable;
  Args gradients;
};

class BatchGradient {
 public:
  BatchGradient(const Problem& problem, std::int64_t rows)
      : params_(problem.parameters()), non_trainable_(nn::inputs_of(problem.non_trainable)) {
    std::vector<std::size_t> wrt(params_.size());
    std::iota(wrt.begin(), wrt.end(), std::size_t{0});
    function_ = value_and_grad(loss_function(problem, rows), wrt, {problem.recompute});
  }

  Gradients operator()(const Args& params, const Args& non_trainable,
                       std::span<const Value> batch) const {
    std::vector<Value> arguments = params.values();
    for (const auto& [name, value] : non_trainable) arguments.push_back(value);
    arguments.insert(arguments.end(), batch.begin(), batch.end());
    const std::vector<Value> results = batch[0].builder().inline_function(function_, arguments);
    InputReader read(results);
    Gradients all;
    all.loss = read.next();
    all.non_trainable = read.next(non_trainable_);
    all.gradients = read.next(params_);
    return all;
  }

  const Inputs& params() const { return params_; }
  const Inputs& non_trainable() const { return non_trainable_; }

 private:
  Inputs params_;
  Inputs non_trainable_;
  Function function_;
};

// Adds the share of a micro-batch to the sums of those before it.
void accumulate(Gradients& g, const Args& sums, const Value& share) {
  Args gradients;
  for (const auto& [name, gradient] : g.gradients)
    gradients.set(name, sums.at(Args::join(kSum, name)) + gradient * share);
  g.gradients = gradients;
  g.loss = sums.at(kLossSum) + g.loss * share;
}

Function step_of(const Problem& problem, const UpdateRule& rule, std::int64_t rows,
                 bool accumulated) {
  const BatchGradient gradient_of(problem, rows);
  const Inputs& params = gradient_of.params();
  const Inputs state = optim::state_inputs(rule.optimizer, params);
  const Inputs sums = accumulated ? sum_inputs(problem) : Inputs{};
  Inputs inputs = params;
  append(inputs, gradient_of.non_trainable());
  append(inputs, state);
  std::vector<std::string> names = names_of(inputs);
  names.insert(names.end(), {kLoss, "gradient_norm"});
  append(inputs, sums);
  append(inputs, batch_inputs(problem, rows));
  if (accumulated) inputs.push_back({"share", {Dtype::kF32, {}}});
  inputs.push_back({"rate", {Dtype::kF32, {}}});
  return trace(
      "train_step", inputs,
      [&](std::span<const Value> in) {
        InputReader read(in);
        const Args values = read.next(params);
        const Args non_trainable = read.next(gradient_of.non_trainable());
        const Args moments = read.next(state);
        const Args so_far = read.next(sums);
        const std::vector<Value> batch{read.next(), read.next(), read.next()};
        Gradients g = gradient_of(values, non_trainable, batch);
        if (accumulated) accumulate(g, so_far, read.next());
        const Builder::Scope scope(in[0].builder(), "optimizer");
        // Infinite where squares are: then those in the state of an optimiser would be, too.
        const Value norm = sqrt(dot(g.gradients, g.gradients));
        const optim::Update next = optim::clipped_update(rule.optimizer, rule.clip, values,
                                                         g.gradients, moments, read.next());
        std::vector<Value> outputs = next.params.values();
        for (const auto& [name, value] : g.non_trainable) outputs.push_back(value);
        for (const auto& [name, value] : next.state) outputs.push_back(value);
        outputs.insert(outputs.end(), {g.loss, norm});
        return outputs;
      },
      names);
}

}  // namespace

Function loss_function(const Problem& problem, std::int64_t rows) {
  const Inputs params = problem.parameters();
  const Inputs non_trainable = nn::inputs_of(problem.non_trainable);
  Inputs inputs = params;
  append(inputs, non_trainable);
  append(inputs, batch_inputs(problem, rows));
  std::vector<std::string> names = names_of(non_trainable);
  names.insert(names.begin(), kLoss);
  return trace(
      kLoss, inputs,
      [&](std::span<const Value> in) {
        InputReader read(in);
        const Args values = read.next(params);
        const Args state = read.next(non_trainable);
        const Value x = read.next();
        const Value y = read.next();
        const Problem::Result result = problem.forward(values, state, x, read.next());
        const Builder::Scope scope(x.builder(), kLoss);
        std::vector<Value> outputs{mean(problem.losses(state, result.output, y))};
        for (const Input& c : non_trainable) outputs.push_back(result.non_trainable.at(c.name));
        return outputs;
      },
      names);
}

Function step_function(const Problem& problem, const UpdateRule& rule, std::int64_t rows) {
  return step_of(problem, rule, rows, false);
}

Function accumulated_step_function(const Problem& problem, const UpdateRule& rule,
                                   std::int64_t rows) {
  return step_of(problem, rule, rows, true);
}

Function accumulate_function(const Problem& problem, std::int64_t rows) {
  const BatchGradient gradient_of(problem, rows);
  const Inputs sums = sum_inputs(problem);
  Inputs handed_on = gradient_of.non_trainable();
  append(handed_on, sums);
  Inputs inputs = gradient_of.params();
  append(inputs, handed_on);
  append(inputs, batch_inputs(problem, rows));
  inputs.push_back({"share", {Dtype::kF32, {}}});
  return trace(
      "accumulate", inputs,
      [&](std::span<const Value> in) {
        InputReader read(in);
        const Args values = read.next(gradient_of.params());
        const Args non_trainable = read.next(gradient_of.non_trainable());
        const Args so_far = read.next(sums);
        const std::vector<Value> batch{read.next(), read.next(), read.next()};
        Gradients g = gradient_of(values, non_trainable, batch);
        accumulate(g, so_far, read.next());
        std::vector<Value> outputs = g.non_trainable.values();
        for (const auto& [name, value] : g.gradients) outputs.push_back(value);
        outputs.push_back(g.loss);
        return outputs;
      },
      names_of(handed_on));
}

std::vector<Input> sum_inputs(const Problem& problem) {
  Inputs sums;
  for (const Input& p : problem.parameters()) sums.push_back({Args::join(kSum, p.name), p.type});
  sums.push_back({kLossSum, {Dtype::kF32, {}}});
  return sums;
}

}  // namespace limpid::train
