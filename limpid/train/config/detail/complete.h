// The parts of complete(): recipes, and model families, each in its own file with its keys,
// recipes, defaults and network. Depends on config.h.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/config/config.h"
#include "limpid/train/loop/problem.h"

namespace limpid::train::detail {

// Defaults for a model and its data. docs/reference/train.md is made from them.
struct Recipe {
  std::string_view name;        // in that page; "" for the first, to which all others are compared
  std::string_view level = {};  // its name as a choice: "quick", "good" or "best"
  TrainConfig::Integers hidden = {};  // of mlp and charlm
  std::string_view preset = {};       // of cnn
  std::int64_t width = 0;             // of cnn, the first convolutions' channels; of lstm and gru
  double dropout = 0;
  std::string_view norm = "none";  // of mlp and charlm
  std::string optimizer;
  std::string schedule;
  std::int64_t batch = 0;
  // Learning rate and hyper-parameters of the recipe's optimiser, if they differ from its defaults.
  std::optional<double> rate = {};
  std::map<std::string, double, std::less<>> numbers = {};
  std::optional<double> clip_norm = {};
  std::int64_t warmup = 0;  // at most a tenth of the run
  // The length: epochs or steps; more epochs if least_steps need them.
  std::int64_t epochs = 0, steps = 0, least_steps = 0;
  double label_smoothing = 0;
  double ema = 0;
  std::string_view augment = {};  // of pictures
};

// Epochs without a better loss after which a run on a table ends, whose length nobody chose.
inline constexpr std::int64_t kPatienceOfTables = 20;

// A network of a family, with all choices made.
struct FamilyModel {
  std::string network;  // its hyper-parameters as JSON
  Problem problem;
};

// A family of models, by the name in model.name.
struct ModelFamily {
  std::string_view name;
  std::string_view help;               // part of the help of --model
  std::vector<std::string_view> keys;  // the keys below "model." that it has
  std::vector<Recipe> recipes;
  const Recipe& (*recipe)(const ModelFamily& family, const Split& data);
  bool reads_text;                   // is a language model; the first one is the default for texts
  bool reads_numbers = !reads_text;  // takes other data; the first one is the default for it
  std::int64_t context = 0;          // tokens, by default
  bool every_token = false;          // whether every token of the context has a target
  // Fills in the other keys of the model.
  void (*fill)(TrainConfig& config, const Split& data, const Recipe& recipe);
  // Makes the model of a complete configuration, to train on `data`.
  FamilyModel (*make)(const TrainConfig& config, const Split& data);
  // Makes the model with the network of another, whose last layer gets the outputs of the data;
  // nullptr: the family has none. Throws kInvalidArgument if the network does not fit the data.
  FamilyModel (*go_on)(const Model& first, const TrainConfig& config, const Split& data) = nullptr;
};

const ModelFamily& mlp_family();
const ModelFamily& cnn_family();
const ModelFamily& char_lm_family();
const ModelFamily& gpt_family();
const ModelFamily& lstm_family();
const ModelFamily& gru_family();
const ModelFamily& custom_family();
// All families; the first one that matches the data is the default.
std::span<const ModelFamily* const> model_families();
// The family of a configuration, whose model must exist or be unset.
const ModelFamily& family_of(const TrainConfig& config);

// Of "a,b": a and b.
std::vector<std::string> names_in(const std::string& list);
// Throws kInvalidArgument for an unknown tokenizer.
void check_tokenizer(const TrainConfig& config);
// Throws kInvalidArgument unless the text has as many tokens as the model that goes on.
void require_vocabulary(std::int64_t tokens, const Split& data);
// The scaling of the inputs in a model, and that of a regression's targets in the data.
Standardization standardization_from(const Model& first, const Split& data);

// Throws kInvalidArgument for keys that the model does not have, if one is chosen.
void refuse_keys_of_others(const TrainConfig& config);

// Throws kInvalidArgument, naming the key.
[[noreturn]] void refuse(std::string_view path, const std::string& why);

template <class T>
void fill(std::optional<T>& choice, const T& value) {
  if (!choice) choice = value;
}

// Fills in the keys whose default depends on nothing. In config.cc.
void fill_usual(TrainConfig& config);

// The recipe of a configuration: the chosen one, or that of the family for the data. Throws
// kInvalidArgument if the family has no such recipe.
const Recipe& recipe_of(const TrainConfig& config, const Split& data);

// The first recipe of a family.
const Recipe& first_recipe(const ModelFamily& family, const Split& data);
// Fills in model.layers, starting with `features`, and activation, norm and init.
void fill_layers(TrainConfig& config, const Split& data, const Recipe& recipe,
                 std::int64_t features);

// Makes an Mlp. Features, and the targets of a regression, are standardised as the data of the
// configuration specifies.
FamilyModel make_mlp(const TrainConfig& config, const Split& data);

// Fills in model.name: the default depends on whether the data is text. Throws kInvalidArgument if
// the data does not match the model.
void fill_model_name(TrainConfig& config, Task task);
// Fills in the other keys of the model. Throws kInvalidArgument for keys that the model does not
// have.
void fill_model(TrainConfig& config, const Split& data, const Recipe& recipe);

}  // namespace limpid::train::detail
