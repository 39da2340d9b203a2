#include "limpid/train/loop/custom_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/function/builder.h"
#include "limpid/function/text.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/random.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/vmap.h"

namespace limpid::train {
namespace {

[[noreturn]] void refuse_custom(ErrorCode code, const std::string& what) {
  throw Error(code, "custom model: " + what);
}

const Type& output_of(const Function& f, const char* part) {
  if (f.outputs().size() != 1)
    refuse_custom(ErrorCode::kInvalidArgument,
                  fmt::format("{}: expected one output, got {}", part, f.outputs().size()));
  return f.type(f.outputs().front().value);
}

void expect_type(const Type& got, const Type& expected, const std::string& what) {
  if (got == expected) return;
  refuse_custom(got.dtype == expected.dtype ? ErrorCode::kShape : ErrorCode::kDtype,
                fmt::format("{}: expected {}, got {}", what, to_string(expected), to_string(got)));
}

// The first `count` inputs are the parameters, each once, in the types that they have.
void check_parameters(const Function& f, std::size_t count, const Params& params,
                      const char* part) {
  const std::vector<Input>& inputs = f.inputs();
  for (std::size_t i = 0; i < std::min(count, inputs.size()); ++i) {
    const Tensor* const value = params.find(inputs[i].name);
    if (!value)
      refuse_custom(ErrorCode::kInvalidArgument,
                    fmt::format("{}: input {} is no parameter", part, in_quotes(inputs[i].name)));
    expect_type(inputs[i].type, value->type(),
                fmt::format("{}: parameter {}", part, in_quotes(inputs[i].name)));
  }
  if (inputs.size() < count || params.size() != count)
    refuse_custom(ErrorCode::kInvalidArgument,
                  fmt::format("{}: expected {} parameters as inputs, got {}", part, params.size(),
                              std::min(count, inputs.size())));
}

void check_functions(const CustomModel& model, const Dataset& train) {
  const std::vector<Input>& inputs = model.inference.inputs();
  if (inputs.empty())
    refuse_custom(ErrorCode::kInvalidArgument, "inference: expected an example as its last input");
  check_parameters(model.inference, inputs.size() - 1, model.params, "inference");
  expect_type(inputs.back().type, train.input_type(), "inference: the example");
  const Type& output = output_of(model.inference, "inference");
  if (model.training) {
    const std::vector<Input>& with_key = model.training->inputs();
    if (with_key.size() != inputs.size() + 1)
      refuse_custom(ErrorCode::kInvalidArgument,
                    fmt::format("training: expected the inputs of inference and a key, {} in all, "
                                "got {}",
                                inputs.size() + 1, with_key.size()));
    check_parameters(*model.training, inputs.size() - 1, model.params, "training");
    expect_type(with_key[inputs.size() - 1].type, train.input_type(), "training: the example");
    expect_type(with_key.back().type, {Dtype::kI64, {}}, "training: the key");
    expect_type(output_of(*model.training, "training"), output, "training: the output");
  }
  if (model.loss) {
    const std::vector<Input>& of_loss = model.loss->inputs();
    if (of_loss.size() != 2)
      refuse_custom(
          ErrorCode::kInvalidArgument,
          fmt::format("loss: expected two inputs, output and target, got {}", of_loss.size()));
    expect_type(of_loss[0].type, output, "loss: the output");
    expect_type(of_loss[1].type, train.target_type(), "loss: the target");
    if (!is_floating(output_of(*model.loss, "loss").dtype))
      refuse_custom(ErrorCode::kDtype, "loss: expected a floating-point result");
  }
  for (const std::string& name : model.frozen)
    if (!model.params.find(name))
      refuse_custom(ErrorCode::kNotFound,
                    fmt::format("frozen: there is no parameter {}", in_quotes(name)));
}

bool is_frozen(const CustomModel& model, const std::string& name) {
  return std::find(model.frozen.begin(), model.frozen.end(), name) != model.frozen.end();
}

// With the key of an example: that of the step, folded with the example's number in the batch.
Function with_numbered_key(const Function& training) {
  std::vector<Input> inputs = training.inputs();
  inputs.push_back({"number", {Dtype::kI64, {}}});
  // Names of parameters are the user's.
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].name = std::to_string(i);
  return trace(training.name(), inputs, [&](std::span<const Value> in) {
    std::vector<Value> arguments(in.begin(), in.end() - 1);
    arguments.back() = fold_in(arguments.back(), in.back());
    return in[0].builder().inline_function(training, arguments);
  });
}

// f on a batch: the last `batched` inputs have rows.
Value on_batch(const Function& f, std::vector<Value> arguments, std::size_t shared,
               const std::vector<bool>& batched, std::int64_t rows) {
  std::vector<std::optional<std::int64_t>> axes(shared);
  for (const bool in : batched) axes.push_back(in ? std::optional<std::int64_t>(0) : std::nullopt);
  Builder& builder = arguments.back().builder();
  return builder.inline_function(vmap(f, axes, rows), arguments).front();
}

}  // namespace

Problem custom_problem(const CustomModel& model, const Dataset& train,
                       const std::optional<Loss>& usual) {
  check_functions(model, train);
  Problem problem;
  problem.task = train.task;
  problem.target = train.target_type();
  Params trained;
  for (const auto& [name, value] : model.params)
    (is_frozen(model, name) ? problem.non_trainable : trained).set(name, value);
  problem.init = [trained](Key) { return trained; };
  // The parameters, then the other state: the order of a Problem.
  std::vector<Input> inputs;
  for (const Params* part : {&trained, &problem.non_trainable})
    for (const auto& [name, value] : *part) inputs.push_back({name, value.type()});
  inputs.push_back({"x", train.input_type()});
  const std::vector<Input> given = model.inference.inputs();
  const auto in_order = [given](const auto& find) {
    std::vector<Value> arguments;
    for (std::size_t i = 0; i + 1 < given.size(); ++i) arguments.push_back(find(given[i].name));
    return arguments;
  };
  problem.inference = trace(
      model.inference.name(), inputs,
      [&](std::span<const Value> in) {
        std::vector<Value> arguments = in_order([&](const std::string& name) {
          const auto at = std::find_if(inputs.begin(), inputs.end(),
                                       [&](const Input& input) { return input.name == name; });
          return in[static_cast<std::size_t>(at - inputs.begin())];
        });
        arguments.push_back(in.back());
        return in.back().builder().inline_function(model.inference, arguments);
      },
      {model.inference.outputs().front().name});
  const std::optional<Function> training =
      model.training ? std::optional(with_numbered_key(*model.training)) : std::nullopt;
  problem.forward = [inference = model.inference, training, in_order](
                        const Args& params, const Args& frozen, const Value& x, const Value& key) {
    std::vector<Value> arguments = in_order([&](const std::string& name) {
      const Value* const value = params.find(name);
      return value ? *value : frozen.at(name);
    });
    const std::size_t shared = arguments.size();
    const std::int64_t rows = x.shape()[0];
    arguments.push_back(x);
    if (!training)
      return Problem::Result{on_batch(inference, std::move(arguments), shared, {true}, rows),
                             frozen};
    arguments.push_back(key);
    arguments.push_back(cast(iota(x.builder(), rows), Dtype::kI64));
    return Problem::Result{
        on_batch(*training, std::move(arguments), shared, {true, false, true}, rows), frozen};
  };
  if (!model.loss) {
    problem.losses = losses_in_scale(usual.value_or(usual_loss(train.task)));
    return problem;
  }
  problem.losses = [loss = *model.loss](const Args&, const Value& output, const Value& target) {
    if (output.type() == loss.inputs()[0].type) {
      const Value arguments[] = {output, target};
      return output.builder().inline_function(loss, arguments).front();
    }
    return on_batch(loss, {output, target}, 0, {true, true}, output.shape()[0]);
  };
  return problem;
}

std::uint64_t hash_of(const CustomModel& model) {
  std::string text = to_text(model.inference);
  for (const auto* part : {&model.training, &model.loss})
    if (*part) text += to_text(**part);
  for (const std::string& name : model.frozen) text += name + "\n";
  std::uint64_t all = hash(std::as_bytes(std::span(text)));
  for (const auto& [name, value] : model.params)
    all = hash(value.bytes(), hash(std::as_bytes(std::span(name)), all));
  return all;
}

}  // namespace limpid::train
