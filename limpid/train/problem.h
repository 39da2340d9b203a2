// Problem: what is to be trained, as pure functions of values; nothing in it knows how a trainer
// goes about it. Leans on nn and data.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/dataset.h"
#include "limpid/data/standardize.h"
#include "limpid/function/function.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/language_model.h"
#include "limpid/nn/mlp.h"

namespace limpid::train {

// The losses of an output, of any shape; their mean is the loss. Works on one example as well as on
// rows of them.
using Losses = std::function<Value(const Args& carried, Value output, Value target)>;

struct Problem {
  Task task = Task::kClassification;
  // Of one example: the parameters, what is carried, and last the data; to one output.
  Function inference;
  Type target;  // of one example
  // The first parameters: what gradients change.
  std::function<Params(Key)> init;
  // The first values of what a step takes and hands on without a gradient: running statistics, and
  // numbers that stay as they are, as those that standardise.
  Params carried;

  // What training sees of the model.
  struct Result {
    Value output;  // (rows, ...)
    Args carried;  // the next ones
  };
  // The model in training, on x (rows, ...); the key is for what draws random numbers.
  std::function<Result(const Args& params, const Args& carried, Value x, Value key)> forward;
  Losses losses;

  // Of a network that continues a text, with these parameters; empty for others.
  std::function<nn::LanguageModel(const Params& params, const nn::LanguageModel::Options& options)>
      language_model;

  const Input& example() const { return inference.inputs().back(); }
  // The inputs of `inference` that are trained, in its order.
  std::vector<Input> parameters() const;
};

// ---- losses by name

// A loss with its numbers; a value.
struct Loss {
  // Which loss.
  enum class Kind : std::uint8_t { kCrossEntropy, kBinaryCrossEntropy, kMse, kMae, kHuber };
  Kind kind = Kind::kCrossEntropy;
  double label_smoothing = 0;  // kCrossEntropy, in [0, 1]
  double delta = 1;            // kHuber: where it turns from a parabola into a line
};

// "cross_entropy", "binary_cross_entropy", "mse", "mae", "huber".
std::vector<std::string> loss_names();
std::string_view name(Loss::Kind kind);
// Throws kNotFound, naming the losses there are.
Loss::Kind loss_from_name(std::string_view name);
// What a task is trained on unless somebody chooses: cross_entropy, binary_cross_entropy, mse.
Loss usual_loss(Task task);
// Whether a task's targets are what the loss compares with.
bool fits(Loss::Kind kind, Task task);

// The losses of an output, unreduced: cross-entropy one an example, the others one an element.
Value losses_of(const Loss& loss, Value output, Value target);

// The same as a Problem has them: what is carried says in which scales the numbers of a regression
// count, by the parameters of with_standardization.
Losses losses_in_scale(const Loss& loss);

// As a JSON object, for a model's config under "loss", and what such a config says; nothing where
// it says nothing. Throws kFormat where that is no loss.
Json to_json(const Loss& loss);
std::optional<Loss> loss_config_of(const Model& model);

// ---- a network of linear layers

// The network on examples f32[sizes.front()]. Standardisation is part of the model and of its
// training, its numbers are carried: examples go in and predictions come out in their own units.
// Losses of regression count in scales of the targets, so that neither they nor a good learning
// rate depend on a unit. Throws kInvalidArgument where the loss does not fit the task, and what
// with_standardization throws.
Problem mlp_problem(const nn::Mlp& net, Task task = Task::kClassification,
                    const std::optional<Loss>& loss = {},
                    const Standardization& standardization = {});

// ---- networks that go on with a text

// The network on tokens i32[context], by the loss of the token behind them, i32[]. Throws
// kInvalidArgument where the loss does not fit.
Problem char_lm_problem(const nn::CharLm& net, const std::optional<Loss>& loss = {});

// The network on tokens i32[context], by the losses of the tokens behind each of them,
// i32[context]. Throws kInvalidArgument where the loss does not fit.
Problem gpt_problem(const nn::Gpt& net, const std::optional<Loss>& loss = {});

}  // namespace limpid::train
