// Convolutional networks: their keys, recipes, defaults and problem.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/data/load_data.h"
#include "limpid/data/standardize.h"
#include "limpid/train/config/detail/complete.h"

namespace limpid::train {
namespace detail {
namespace {

// The text of an enumeration's value; refuses another.
template <class T>
T chosen(std::string_view path, const std::string& text) {
  const std::vector<std::string> names = all_names<T>();
  if (std::find(names.begin(), names.end(), text) == names.end())
    refuse(path, fmt::format("a cnn has no {}; expected {}", text, fmt::join(names, ", ")));
  return from_name<T>(text);
}

void fill_cnn(TrainConfig& c, const Split& data, const Recipe& recipe) {
  if (!data.train.picture)
    refuse("model.name", fmt::format("cnn, but the data has no pictures: {} is {}", data.train.name,
                                     to_string(data.train.input_type())));
  fill<std::string>(c.preset, std::string(recipe.preset));
  const auto preset = chosen<nn::CnnPreset>("model.preset", *c.preset);
  fill(c.width, recipe.width > 0 && recipe.preset == *c.preset ? recipe.width
                                                               : nn::Cnn::usual_filters(preset));
  fill<std::string>(c.norm, preset == nn::CnnPreset::kLenet ? "none" : "batch");
  chosen<nn::CnnNorm>("model.norm", *c.norm);
  fill<std::string>(c.activation, "relu");
  fill<std::string>(c.init, "he");
  try {
    cnn_of(c, data.train).init_state();
  } catch (const Error& e) {
    refuse("model", e.what());
  }
}

// Pictures are standardised by channel, unless the data says none.
Standardization standardization_of(const TrainConfig& c, const Dataset& train) {
  const DataSpec spec = parse_data_spec(*c.data);
  const bool given = std::any_of(spec.options.begin(), spec.options.end(),
                                 [](const auto& option) { return option.key == "standardize"; });
  return given && scaling_of(spec) == Scaling::kNone ? Standardization{} : fit_channels(train);
}

FamilyModel make_cnn(const TrainConfig& c, const Split& data) {
  const nn::Cnn net = cnn_of(c, data.train);
  return {net.config(),
          cnn_problem(net, data.train.task, loss_of(c), standardization_of(c, data.train))};
}

FamilyModel go_on_cnn(const Model& first, const TrainConfig& c, const Split& data) {
  nn::Cnn net = nn::Cnn::from_config(first.config);
  if (!data.train.fits({Dtype::kF32, net.picture}))
    refuse("from", fmt::format("the model takes pictures {}, an example of {} is {}",
                               to_string(net.picture), data.train.name,
                               to_string(data.train.input_type())));
  net.outputs = data.train.outputs();
  net.dropout = *c.dropout;
  return {net.config(),
          cnn_problem(net, data.train.task, loss_of(c), standardization_from(first, data))};
}

}  // namespace

const ModelFamily& cnn_family() {
  static const ModelFamily family = [] {
    Recipe quick{.name = "cnn",
                 .level = "quick",
                 .preset = "small",
                 .width = 16,
                 .optimizer = "adamw",
                 .schedule = "onecycle",
                 .batch = 128,
                 .rate = 0.005,
                 .numbers = {{"weight_decay", 0.02}},
                 .epochs = 5};
    Recipe good = quick;
    good.name = "cnn good";
    good.level = "good";
    good.epochs = 15;
    good.ema = 0.999;
    good.augment = "light";
    Recipe best = good;
    best.name = "cnn best";
    best.level = "best";
    best.width = 32;
    best.epochs = 30;
    best.label_smoothing = 0.05;
    return ModelFamily{.name = "cnn",
                       .help = "convolutional network, for pictures",
                       .keys = {"name", "preset", "width", "activation", "norm", "dropout", "init"},
                       .recipes = {quick, good, best},
                       .recipe = first_recipe,
                       .reads_text = false,
                       .fill = fill_cnn,
                       .make = make_cnn,
                       .go_on = go_on_cnn};
  }();
  return family;
}

}  // namespace detail

nn::Cnn cnn_of(const TrainConfig& c, const Dataset& train) {
  const PictureShape& picture = *train.picture;
  return {.picture = Shape{picture.channels, picture.height, picture.width},
          .outputs = train.outputs(),
          .preset = from_name<nn::CnnPreset>(*c.preset),
          .filters = *c.width,
          .norm = from_name<nn::CnnNorm>(*c.norm),
          .activation = nn::activation_from_name(*c.activation),
          .dropout = *c.dropout,
          .init_name = *c.init};
}

}  // namespace limpid::train
