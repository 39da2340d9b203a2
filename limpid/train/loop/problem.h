// Problem: what to train, as pure functions, independent of the trainer. Depends on nn and data.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/core/json.h"
#include "limpid/data/dataset.h"
#include "limpid/data/standardize.h"
#include "limpid/formats/model.h"
#include "limpid/function/function.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/cnn.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/language_model.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/recurrent_net.h"
#include "limpid/transforms/grad.h"

namespace limpid::train {

// The losses of an output, in any shape; the loss is their mean. Works on one example and on
// batches.
using Losses = std::function<Value(const Args& non_trainable, Value output, Value target)>;

struct Problem {
  Task task = Task::kClassification;
  // The model of one example. Inputs: the parameters, the non-trainable state, then the data. One
  // output.
  Function inference;
  Type target;  // of one example
  // Of one example in training, if that is another: probabilities, f32 [classes], of mixed
  // examples.
  std::optional<Type> mixed_target = {};
  // Initialises the trainable parameters.
  std::function<Params(Key)> init;
  // The initial non-trainable state: values that each step takes and returns, such as
  // running statistics and the constants of standardisation (PyTorch: buffers).
  Params non_trainable;

  // The results of forward().
  struct Result {
    Value output;        // (rows, ...)
    Args non_trainable;  // the new non-trainable state
  };
  // The forward pass in training, on x (rows, ...). The key is for dropout and other random
  // numbers.
  std::function<Result(const Args& params, const Args& non_trainable, Value x, Value key)> forward;
  Losses losses;
  // Segments whose activations are not kept for the backward pass; none by default.
  Segments recompute;

  // Makes a LanguageModel with these parameters; empty unless the problem is a language model.
  std::function<nn::LanguageModel(const Params& params, const nn::LanguageModel::Options& options)>
      language_model;

  // The network to keep, of the parameters and the state of `inference`: its Function, and its
  // inputs but the data. Empty: they are `inference`'s own.
  std::function<std::pair<Function, Params>(const Params& params)> kept;

  // The model of these parameters and this state, with a configuration. It computes what
  // `inference` computes, bit for bit.
  Model model(const Params& params, std::string config) const;
  const Input& example() const { return inference.inputs().back(); }
  // The trainable inputs of `inference`, in order.
  std::vector<Input> parameters() const;
};

// ---- losses by name

// A loss function with its hyper-parameters.
struct Loss {
  // Which loss.
  enum class Kind : std::uint8_t { kCrossEntropy, kBinaryCrossEntropy, kMse, kMae, kHuber };
  Kind kind = Kind::kCrossEntropy;
  double label_smoothing = 0;  // kCrossEntropy, in [0, 1]
  double delta = 1;            // kHuber: the absolute error at which the loss becomes linear
  // kCrossEntropy: factors of the losses, by class; empty: all 1.
  std::vector<double> class_weights = {};
};

// Its names (core/enum_names.h).
constexpr EnumNames<5> enum_names(Loss::Kind) {
  return {"loss", {"cross_entropy", "binary_cross_entropy", "mse", "mae", "huber"}};
}
using limpid::name;
// The default loss of a task: cross_entropy, binary_cross_entropy or mse.
Loss usual_loss(Task task);
// Whether the loss accepts the targets of the task.
bool fits(Loss::Kind kind, Task task);

// The losses of an output, unreduced: one per example for cross-entropy, whose targets may also be
// probabilities, one per element for the others.
Value losses_of(const Loss& loss, Value output, Value target);

// The same for a Problem. For a regression, errors are measured in the scales of the targets, which
// are in the non-trainable state (with_standardization).
Losses losses_in_scale(const Loss& loss);

// To a JSON object, for the key "loss" of a model's config; and the loss of a config, nullopt if it
// has none. loss_config_of throws kFormat if it is invalid.
Json to_json(const Loss& loss);
std::optional<Loss> loss_config_of(const Model& model);

// ---- a network of linear layers

// The network on examples f32[sizes.front()]. Standardisation is part of the model, and its
// constants are non-trainable state: inputs and predictions are in raw units. The losses of a
// regression are in scales of the targets, so that they and a good learning rate do not depend on
// the units. Throws kInvalidArgument if the loss does not match the task, and what
// with_standardization throws.
Problem mlp_problem(const nn::Mlp& net, Task task = Task::kClassification,
                    const std::optional<Loss>& loss = {},
                    const Standardization& standardization = {});

// ---- a network of convolutions

// The network on pictures f32[channels, height, width], as mlp_problem.
Problem cnn_problem(const nn::Cnn& net, Task task = Task::kClassification,
                    const std::optional<Loss>& loss = {},
                    const Standardization& standardization = {});

// ---- a recurrent network

// The network on sequences f32[steps, features], as mlp_problem.
Problem recurrent_net_problem(const nn::RecurrentNet& net, Task task = Task::kClassification,
                              const std::optional<Loss>& loss = {},
                              const Standardization& standardization = {});

// ---- language models

// The network on tokens i32[context]; the target is the next token, i32[]. Throws kInvalidArgument
// if the loss does not match.
Problem char_lm_problem(const nn::CharLm& net, const std::optional<Loss>& loss = {});

// The network on tokens i32[context]; the targets are the next token of each, i32[context]. Throws
// kInvalidArgument if the loss does not match.
Problem gpt_problem(const nn::Gpt& net, const std::optional<Loss>& loss = {});

// As gpt_problem. Each window is read from a state of zeros.
Problem recurrent_lm_problem(const nn::RecurrentLm& net, const std::optional<Loss>& loss = {});

}  // namespace limpid::train
