// What complete() is made of: recipes, and the families of models, each with its keys, recipe,
// defaults and network in a file of its own. Depends on config.h.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/config.h"
#include "limpid/train/problem.h"

namespace limpid::train::detail {

// Defaults that suit a model and its data. docs/reference/train.md is made from them.
struct Recipe {
  std::string_view name;              // there; "" of the first, which all others are compared with
  TrainConfig::Integers hidden = {};  // of mlp and charlm
  double dropout = 0;
  std::string optimizer;
  std::string schedule;
  std::int64_t batch = 0;
  // Of the recipe's own optimiser, where they are not what it usually has.
  std::optional<double> rate = {};
  std::map<std::string, double, std::less<>> numbers = {};
  std::optional<double> clip_norm = {};
  std::int64_t warmup = 0;  // at most a tenth of the run
  // How long: one of epochs and steps; epochs until there are least_steps.
  std::int64_t epochs = 0, steps = 0, least_steps = 0;
};

// A network of a family, with all its choices made.
struct FamilyModel {
  std::string network;  // its hyper-parameters as JSON
  Problem problem;
};

// A family of models, by the name in model.name.
struct ModelFamily {
  std::string_view name;
  std::string_view help;               // in that of --model
  std::vector<std::string_view> keys;  // those of "model." that it has
  std::vector<Recipe> recipes;
  const Recipe& (*recipe)(const ModelFamily& family, const Split& data);
  bool reads_text;           // and continues it; the first that does is the default for texts
  std::int64_t context = 0;  // tokens, by default
  bool every_token = false;  // whether it learns to predict the token after each of the context
  // Fills in everything else of the model.
  void (*fill)(TrainConfig& config, const Split& data, const Recipe& recipe);
  // What a complete configuration asks for, to train on `data`.
  FamilyModel (*make)(const TrainConfig& config, const Split& data);
};

const ModelFamily& mlp_family();
const ModelFamily& char_lm_family();
const ModelFamily& gpt_family();
// All of them; the first that fits the data is the default.
std::span<const ModelFamily* const> model_families();
// That of a configuration, whose model is known to exist or not chosen.
const ModelFamily& family_of(const TrainConfig& config);

// Throws kInvalidArgument, naming the key.
[[noreturn]] void refuse(std::string_view path, const std::string& why);

template <class T>
void fill(std::optional<T>& choice, const T& value) {
  if (!choice) choice = value;
}

// The first recipe, of a family that has one.
const Recipe& only_recipe(const ModelFamily& family, const Split& data);
// model.layers of linear layers from `features`, activation, norm and init.
void fill_layers(TrainConfig& config, const Split& data, const Recipe& recipe,
                 std::int64_t features);

// The model of linear layers; features, and a regression's targets, are standardised as the
// configuration's data says.
FamilyModel make_mlp(const TrainConfig& config, const Split& data);

// Fills in model.name: by whether the data is text. Throws kInvalidArgument where the data is for
// another one.
void fill_model_name(TrainConfig& config, Task task);
// Everything else of the model. Throws kInvalidArgument for keys that it does not have.
void fill_model(TrainConfig& config, const Split& data, const Recipe& recipe);

}  // namespace limpid::train::detail
