// The model's part of a configuration: the list of families, and their common code.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/train/config/detail/complete.h"
#include "limpid/train/config/detail/first_model.h"

namespace limpid::train {
namespace detail {
namespace {

using Integers = TrainConfig::Integers;

constexpr std::string_view kHiddenInstead =
    "model.hidden (--hidden) instead takes both from the data";

}  // namespace

std::span<const ModelFamily* const> model_families() {
  static const ModelFamily* const families[] = {&mlp_family(),   &cnn_family(),  &char_lm_family(),
                                                &gpt_family(),   &lstm_family(), &gru_family(),
                                                &custom_family()};
  return families;
}

const ModelFamily& family_of(const TrainConfig& config) {
  for (const ModelFamily* family : model_families())
    if (config.model == family->name) return *family;
  return char_lm_family();
}

void refuse_keys_of_others(const TrainConfig& c) {
  if (!c.model) return;
  const std::vector<std::string_view>& keys = family_of(c).keys;
  for (const ConfigKey& key : config_keys())
    if (key.path.starts_with("model.") && is_chosen(c, key) &&
        std::find(keys.begin(), keys.end(), key.name()) == keys.end())
      refuse(key.path, fmt::format("the model {} has no such option; it has {}", *c.model,
                                   fmt::join(keys, ", ")));
}

void require_vocabulary(std::int64_t tokens, const Split& data) {
  if (tokens != data.train.classes)
    refuse("from", fmt::format("the model has {} tokens, the text {}; choose the model's tokenizer "
                               "by --tokenizer",
                               tokens, data.train.classes));
}

Standardization standardization_from(const Model& first, const Split& data) {
  Standardization scaling;
  if (data.train.task == Task::kRegression)
    scaling.targets = fit_standardization(data.train, Scaling::kZScore).targets;
  const Params constants = first.params.within("standardize.input");
  if (constants.empty()) return scaling;
  const auto flat = [&](const char* name) {
    const Tensor& values = constants.at(name);
    return values.reshape({values.elements()});
  };
  scaling.inputs = Affine{flat("center"), flat("scale")};
  return scaling;
}

const Recipe& recipe_of(const TrainConfig& c, const Split& data) {
  const ModelFamily& family = family_of(c);
  if (!c.recipe) return family.recipe(family, data);
  std::vector<std::string_view> levels;
  for (const Recipe& recipe : family.recipes) {
    if (recipe.level == *c.recipe) return recipe;
    if (!recipe.level.empty()) levels.push_back(recipe.level);
  }
  refuse("recipe", levels.empty() ? fmt::format("the model {} has one recipe only", family.name)
                                  : fmt::format("the model {} has no {}; it has {}", family.name,
                                                *c.recipe, fmt::join(levels, ", ")));
}

const Recipe& first_recipe(const ModelFamily& family, const Split&) {
  return family.recipes.front();
}

void fill_layers(TrainConfig& c, const Split& data, const Recipe& recipe, std::int64_t in) {
  const std::int64_t out = data.train.outputs();
  if (c.layers) {
    if (c.hidden) refuse("model.hidden", "expected model.hidden or model.layers, got both");
    if (c.layers->size() < 2)
      refuse("model.layers", fmt::format("expected at least 2 sizes, got {}", c.layers->size()));
    if (c.layers->front() != in)
      refuse("model.layers", fmt::format("{} inputs, but the data has {}; {}", c.layers->front(),
                                         in, kHiddenInstead));
    const bool enough = data.train.task == Task::kClassification ? c.layers->back() >= out
                                                                 : c.layers->back() == out;
    if (!enough)
      refuse("model.layers", fmt::format("{} outputs, but the data has {}; {}", c.layers->back(),
                                         out, kHiddenInstead));
  } else {
    Integers sizes{in};
    const Integers& hidden = c.hidden ? *c.hidden : recipe.hidden;
    sizes.insert(sizes.end(), hidden.begin(), hidden.end());
    sizes.push_back(out);
    c.layers = sizes;
  }
  c.hidden.reset();
  fill<std::string>(c.activation, "relu");
  fill<std::string>(c.norm, std::string(recipe.norm));
  fill<std::string>(c.init, "he");
}

void fill_model_name(TrainConfig& c, Task task) {
  const bool text = task == Task::kNextToken;
  const auto reads_it = [&](const ModelFamily& family) {
    return text ? family.reads_text : family.reads_numbers;
  };
  for (const ModelFamily* family : model_families())
    if (reads_it(*family)) fill(c.model, std::string(family->name));
  if (!reads_it(family_of(c)))
    refuse("model.name", fmt::format("{}, but the data is for {}", *c.model, limpid::name(task)));
}

void fill_model(TrainConfig& c, const Split& data, const Recipe& recipe) {
  refuse_keys_of_others(c);
  fill(c.dropout, recipe.dropout);
  if (!c.from) family_of(c).fill(c, data, recipe);
}

void check_tokenizer(const TrainConfig& c) {
  try {
    check_tokenizer_name(c.tokenizer.value_or(WindowOptions{}.tokenizer));
  } catch (const Error& e) {
    refuse("tokenizer", e.what());
  }
}

}  // namespace detail

WindowOptions window_options_of(const TrainConfig& chosen) {
  const TrainConfig c = detail::with_first_network(chosen);
  detail::check_tokenizer(c);
  const detail::ModelFamily& family = detail::family_of(c);
  const std::int64_t context =
      family.reads_text ? family.context : detail::char_lm_family().context;
  return {c.context.value_or(context), family.every_token,
          c.tokenizer.value_or(WindowOptions{}.tokenizer)};
}

}  // namespace limpid::train
