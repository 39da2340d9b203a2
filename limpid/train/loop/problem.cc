#include "limpid/train/loop/problem.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"

namespace limpid::train {
namespace {

// The names that with_standardization gives its parameters.
constexpr const char* kStandardize = "standardize";
constexpr const char* kInputCenter = "standardize.input.center";
constexpr const char* kInputScale = "standardize.input.scale";
constexpr const char* kOutputCenter = "standardize.output.center";
constexpr const char* kOutputScale = "standardize.output.scale";

// One value a column, for each row of x where it has rows.
Value by_column(const Args& non_trainable, const char* name, const Value& x) {
  return broadcast(non_trainable.at(name), x.shape());
}

Value standardized(const Args& non_trainable, const Value& x) {
  if (!non_trainable.find(kInputCenter)) return x;
  const Builder::Scope scope(x.builder(), kStandardize);
  // Named, as compilers differ in which operand they make first, and a hash has the order.
  const Value scale = by_column(non_trainable, kInputScale, x);
  return (x - by_column(non_trainable, kInputCenter, x)) / scale;
}

Value in_units(const Args& non_trainable, const Value& y) {
  if (!non_trainable.find(kOutputCenter)) return y;
  const Builder::Scope scope(y.builder(), kStandardize);
  const Value center = by_column(non_trainable, kOutputCenter, y);
  return y * by_column(non_trainable, kOutputScale, y) + center;
}

// The network at inference, with any parameters.
template <class Net>
Model model_of(const Net& net, Task task, const Standardization& standardization) {
  const Function network = net.function();
  Model model{
      trace(network.name(), network.inputs(),
            [&](std::span<const Value> in) { return in[0].builder().inline_function(network, in); },
            {task == Task::kRegression ? "prediction" : network.outputs().front().name}),
      {},
      ""};
  for (std::size_t i = 0; i + 1 < network.inputs().size(); ++i)
    model.params.set(network.inputs()[i].name, Tensor::zeros(network.inputs()[i].type));
  return with_standardization(model, standardization);
}

// The chosen loss, or the default.
Loss fitting(const std::optional<Loss>& chosen, Task task, std::string_view where) {
  const Loss loss = chosen.value_or(usual_loss(task));
  if (!fits(loss.kind, task))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: loss {} does not fit {}", where,
                                                         name(loss.kind), limpid::name(task)));
  return loss;
}

// f32 [classes], or nothing.
Value weights_of(const Loss& loss, const Value& logits) {
  if (loss.class_weights.empty()) return {};
  return constant(logits.builder(),
                  Tensor::generate<float>({static_cast<std::int64_t>(loss.class_weights.size())},
                                          [&](std::span<float> out) {
                                            for (std::size_t c = 0; c < out.size(); ++c)
                                              out[c] = static_cast<float>(loss.class_weights[c]);
                                          }));
}

}  // namespace

Model Problem::model(const Params& params, std::string config) const {
  if (!kept) return {inference, params, std::move(config)};
  auto [function, values] = kept(params);
  return {std::move(function), std::move(values), std::move(config)};
}

std::vector<Input> Problem::parameters() const {
  std::vector<Input> trained;
  for (const Input& input : inference.inputs())
    if (!non_trainable.find(input.name)) trained.push_back(input);
  trained.pop_back();  // the data
  return trained;
}

// ---- losses

Loss usual_loss(Task task) {
  switch (task) {
    case Task::kClassification:
    case Task::kNextToken:
      return {.kind = Loss::Kind::kCrossEntropy};
    case Task::kMultiLabel:
      return {.kind = Loss::Kind::kBinaryCrossEntropy};
    case Task::kRegression:
      return {.kind = Loss::Kind::kMse};
  }
  return {};
}

bool fits(Loss::Kind kind, Task task) {
  const Loss::Kind usual = usual_loss(task).kind;
  return kind == usual ||
         (usual == Loss::Kind::kMse && (kind == Loss::Kind::kMae || kind == Loss::Kind::kHuber));
}

Value losses_of(const Loss& loss, Value output, Value target) {
  switch (loss.kind) {
    case Loss::Kind::kCrossEntropy:
      // All labels of the data are classes.
      if (loss.label_smoothing == 0 && loss.class_weights.empty() && !is_floating(target.dtype()))
        return softmax_cross_entropy(output, target);
      return cross_entropy(output, target,
                           {.reduction = Reduction::kNone,
                            .label_smoothing = loss.label_smoothing,
                            .class_weights = weights_of(loss, output)});
    case Loss::Kind::kBinaryCrossEntropy:
      return binary_cross_entropy_with_logits(output, target, Reduction::kNone);
    case Loss::Kind::kMse:
      return mse_loss(output, target, Reduction::kNone);
    case Loss::Kind::kMae:
      return mae_loss(output, target, Reduction::kNone);
    case Loss::Kind::kHuber:
      return huber_loss(output, target, loss.delta, Reduction::kNone);
  }
  return output;
}

Losses losses_in_scale(const Loss& loss) {
  return [loss](const Args& non_trainable, const Value& output, const Value& target) {
    if (!non_trainable.find(kOutputScale)) return losses_of(loss, output, target);
    const Value scale = by_column(non_trainable, kOutputScale, output);  // the centres cancel
    return losses_of(loss, output / scale, target / scale);
  };
}

Json to_json(const Loss& loss) {
  Json json{{"name", name(loss.kind)}};
  if (loss.kind == Loss::Kind::kCrossEntropy) json["label_smoothing"] = loss.label_smoothing;
  if (!loss.class_weights.empty()) json["class_weights"] = loss.class_weights;
  if (loss.kind == Loss::Kind::kHuber) json["delta"] = loss.delta;
  return json;
}

std::optional<Loss> loss_config_of(const Model& model) {
  if (model.config.empty()) return {};
  try {
    const Json config = Json::parse(model.config);
    if (!config.contains("loss")) return {};
    const JsonView json = JsonView(config).at("loss");
    const auto number = [&](const char* key, double otherwise) {
      const std::optional<JsonView> found = json.find(key);
      return found ? found->as_number() : otherwise;
    };
    Loss loss{from_name<Loss::Kind>(json.at("name").as_string()), number("label_smoothing", 0),
              number("delta", 1)};
    if (const std::optional<JsonView> weights = json.find("class_weights"))
      for (const JsonView& weight : weights->elements())
        loss.class_weights.push_back(weight.as_number());
    const auto& outputs = model.function.outputs();
    const std::size_t weights = loss.class_weights.size();
    if (weights > 0 && (outputs.empty() || model.function.type(outputs[0].value).shape !=
                                               Shape{static_cast<std::int64_t>(weights)}))
      throw Error(ErrorCode::kFormat,
                  fmt::format("{} class weights, but not as many logits", weights));
    if (!(loss.label_smoothing >= 0 && loss.label_smoothing <= 1 && loss.delta > 0))
      throw Error(ErrorCode::kFormat, "a number is out of range");
    return loss;
  } catch (const Error& e) {
    throw Error(ErrorCode::kFormat,
                fmt::format("the model's configuration of the loss: {}", e.what()));
  }
}

// ---- networks of one example's numbers

namespace {

template <class Net>
Problem network_problem(const Net& net, std::int64_t outputs, Task task, const Loss& loss,
                        const Standardization& standardization) {
  const Model model = model_of(net, task, standardization);
  Problem problem;
  problem.task = task;
  problem.inference = model.function;
  problem.non_trainable = net.init_state();
  problem.non_trainable.merge(kStandardize, model.params.within(kStandardize));
  problem.target =
      task == Task::kClassification ? Type{Dtype::kI32, {}} : Type{Dtype::kF32, {outputs}};
  problem.init = [net](Key key) { return net.init(key); };
  problem.forward = [net](const Args& params, const Args& state, const Value& x, const Value& key) {
    const auto result = net.training(params, state, standardized(state, x), key);
    return Problem::Result{in_units(state, result.logits), result.state};
  };
  problem.losses = losses_in_scale(loss);
  return problem;
}

}  // namespace

Problem mlp_problem(const nn::Mlp& net, Task task, const std::optional<Loss>& loss,
                    const Standardization& standardization) {
  return network_problem(net, net.sizes.back(), task, fitting(loss, task, "mlp_problem"),
                         standardization);
}

Problem cnn_problem(const nn::Cnn& net, Task task, const std::optional<Loss>& loss,
                    const Standardization& standardization) {
  return network_problem(net, net.outputs, task, fitting(loss, task, "cnn_problem"),
                         standardization);
}

Problem recurrent_net_problem(const nn::RecurrentNet& net, Task task,
                              const std::optional<Loss>& loss,
                              const Standardization& standardization) {
  return network_problem(net, net.outputs, task, fitting(loss, task, "recurrent_net_problem"),
                         standardization);
}

// ---- networks that go on with a text

namespace {

template <class Net>
Problem next_token_problem(const Net& net, const Shape& target, const Loss& loss) {
  Problem problem;
  problem.task = Task::kNextToken;
  problem.inference = net.function();
  problem.target = {Dtype::kI32, target};
  problem.init = [net](Key key) { return net.init(key); };
  problem.forward = [net](const Args& params, const Args& non_trainable, const Value& x,
                          const Value& key) {
    return Problem::Result{net(params, x, key), non_trainable};
  };
  problem.losses = losses_in_scale(loss);
  problem.language_model = [net](const Params& params, const nn::LanguageModel::Options& options) {
    return nn::LanguageModel(net, params, options);
  };
  return problem;
}

}  // namespace

Problem char_lm_problem(const nn::CharLm& net, const std::optional<Loss>& loss) {
  return next_token_problem(net, {}, fitting(loss, Task::kNextToken, "char_lm_problem"));
}

Problem gpt_problem(const nn::Gpt& net, const std::optional<Loss>& loss) {
  return next_token_problem(net, {net.context}, fitting(loss, Task::kNextToken, "gpt_problem"));
}

Problem recurrent_lm_problem(const nn::RecurrentLm& net, const std::optional<Loss>& loss) {
  return next_token_problem(net, {net.context},
                            fitting(loss, Task::kNextToken, "recurrent_lm_problem"));
}

}  // namespace limpid::train
