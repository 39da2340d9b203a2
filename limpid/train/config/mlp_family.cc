// Multilayer perceptrons: their keys, recipes, defaults and problem.
#include <fmt/format.h>

#include "limpid/data/load_data.h"
#include "limpid/data/standardize.h"
#include "limpid/train/config/detail/complete.h"

namespace limpid::train {
namespace detail {
namespace {

const Recipe& recipe_for(const ModelFamily& family, const Split& data) {
  constexpr std::int64_t kManyExamples = 10'000;
  const bool large = data.train.task == Task::kClassification && data.train.size() >= kManyExamples;
  return family.recipes[large ? 0 : 1];
}

Recipe good_mlp(std::string_view name, std::string_view level, std::int64_t epochs, double dropout,
                std::string_view augment) {
  return {.name = name,
          .level = level,
          .hidden = {256, 128},
          .dropout = dropout,
          .norm = "batch",
          .optimizer = "adamw",
          .schedule = "onecycle",
          .batch = 128,
          .rate = 0.003,
          .numbers = {{"weight_decay", 0.05}},
          .epochs = epochs,
          .ema = 0.999,
          .augment = augment};
}

void fill_mlp(TrainConfig& c, const Split& data, const Recipe& recipe) {
  fill_layers(c, data, recipe, data.train.input_type().shape.elements());
}

FamilyModel go_on_mlp(const Model& first, const TrainConfig& c, const Split& data) {
  nn::Mlp net = nn::Mlp::from_config(first.config);
  const std::int64_t features = data.train.input_type().shape.elements();
  if (net.sizes.front() != features)
    refuse("from",
           fmt::format("the model takes {} numbers, the data has {}", net.sizes.front(), features));
  net.sizes.back() = data.train.outputs();
  net.dropout = *c.dropout;
  return {net.config(),
          mlp_problem(net, data.train.task, loss_of(c), standardization_from(first, data))};
}

}  // namespace

const ModelFamily& mlp_family() {
  static const ModelFamily family{
      .name = "mlp",
      .help = "multilayer perceptron",
      .keys = {"name", "hidden", "layers", "activation", "norm", "dropout", "init"},
      .recipes = {{.name = "",
                   .level = "quick",
                   .hidden = {256, 128},
                   .dropout = 0.2,
                   .optimizer = "sgd",
                   .schedule = "linear",
                   .batch = 128,
                   .epochs = 10},
                  {.name = "small recipe",
                   .hidden = {64, 64},
                   .optimizer = "adam",
                   .schedule = "linear",
                   .batch = 32,
                   .rate = 0.005,
                   .epochs = 100,
                   .least_steps = 1000},
                  good_mlp("mlp good", "good", 20, 0.3, ""),
                  good_mlp("mlp best", "best", 40, 0, "digits")},
      .recipe = recipe_for,
      .reads_text = false,
      .fill = fill_mlp,
      .make = make_mlp,
      .go_on = go_on_mlp};
  return family;
}

FamilyModel make_mlp(const TrainConfig& c, const Split& data) {
  const nn::Mlp net = network_of(c);
  const Scaling scaling = scaling_of(parse_data_spec(*c.data));
  return {net.config(),
          mlp_problem(net, data.train.task, loss_of(c), fit_standardization(data.train, scaling))};
}

}  // namespace detail

nn::Mlp network_of(const TrainConfig& c) {
  return {*c.layers, nn::activation_from_name(*c.activation), *c.dropout, *c.init,
          from_name<nn::MlpNorm>(*c.norm)};
}

}  // namespace limpid::train
