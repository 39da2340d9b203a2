// Recurrent networks, of LSTM or GRU layers: their keys, recipes, defaults and problems. One family
// for each kind of layer; both read texts and sequences of numbers.
#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/data/load_data.h"
#include "limpid/data/standardize.h"
#include "limpid/train/config/detail/complete.h"

namespace limpid::train::detail {
namespace {

using Integers = TrainConfig::Integers;

nn::RecurrentLm recurrent_lm_of(const TrainConfig& c, std::int64_t vocabulary) {
  return {.kind = from_name<nn::RecurrentKind>(*c.model),
          .vocabulary = vocabulary,
          .context = *c.context,
          .layers = c.layers->front(),
          .width = *c.width,
          .tied = *c.tied,
          .dropout = *c.dropout};
}

nn::RecurrentNet recurrent_net_of(const TrainConfig& c, const Dataset& train) {
  const SequenceShape sequence = *train.as_sequence();
  return {.kind = from_name<nn::RecurrentKind>(*c.model),
          .steps = sequence.steps,
          .features = sequence.features,
          .outputs = train.outputs(),
          .layers = c.layers->front(),
          .width = *c.width,
          .dropout = *c.dropout};
}

bool is_text(const Split& data) { return data.train.task == Task::kNextToken; }

void require_sequences(const TrainConfig& c, const Dataset& train) {
  if (!train.as_sequence())
    refuse("model.name", fmt::format("{}, but the data has no sequences of steps: {} is {}; "
                                     "expected arrays [N, steps, features]",
                                     *c.model, train.name, to_string(train.input_type())));
}

void fill_recurrent(TrainConfig& c, const Split& data, const Recipe& recipe) {
  if (c.layers && c.layers->size() != 1)
    refuse("model.layers",
           fmt::format("expected 1 number, that of {} layers, got {}", *c.model, c.layers->size()));
  fill(c.width, recipe.width);
  if (is_text(data)) {
    const nn::RecurrentLm usual;
    fill(c.layers, Integers{usual.layers});
    fill(c.context, usual.context);
    fill(c.tied, usual.tied);
  } else {
    require_sequences(c, data.train);
    fill(c.layers, Integers{nn::RecurrentNet{}.layers});
    for (const auto& [path, chosen] :
         {std::pair("model.context", c.context.has_value()), {"model.tied", c.tied.has_value()}})
      if (chosen) refuse(path, fmt::format("is for texts; {} has none", data.train.name));
  }
  try {
    if (is_text(data))
      recurrent_lm_of(c, data.train.classes).check();
    else
      recurrent_net_of(c, data.train).check();
  } catch (const Error& e) {
    refuse("model", e.what());
  }
}

FamilyModel make_recurrent(const TrainConfig& c, const Split& data) {
  if (is_text(data)) {
    const nn::RecurrentLm net = recurrent_lm_of(c, data.train.classes);
    return {net.config(), recurrent_lm_problem(net, loss_of(c))};
  }
  const nn::RecurrentNet net = recurrent_net_of(c, data.train);
  const Scaling scaling = scaling_of(parse_data_spec(*c.data));
  return {net.config(), recurrent_net_problem(net, data.train.task, loss_of(c),
                                              fit_features(data.train, scaling))};
}

FamilyModel go_on_recurrent(const Model& first, const TrainConfig& c, const Split& data) {
  const std::optional<Json> network = Json::try_parse(first.config);
  if (network && network->contains("vocabulary") != is_text(data))
    refuse("from",
           fmt::format("the model {}, the data is for {}",
                       is_text(data) ? "reads sequences of numbers" : "reads tokens", *c.task));
  if (is_text(data)) {
    nn::RecurrentLm net = nn::RecurrentLm::from_config(first.config);
    require_vocabulary(net.vocabulary, data);
    net.dropout = *c.dropout;
    return {net.config(), recurrent_lm_problem(net, loss_of(c))};
  }
  nn::RecurrentNet net = nn::RecurrentNet::from_config(first.config);
  const std::optional<SequenceShape> sequence = data.train.as_sequence();
  if (!sequence || sequence->steps != net.steps || sequence->features != net.features)
    refuse("from",
           fmt::format("the model takes {} steps of {} features, an example of {} is {}", net.steps,
                       net.features, data.train.name, to_string(data.train.input_type())));
  net.outputs = data.train.outputs();
  net.dropout = *c.dropout;
  return {net.config(), recurrent_net_problem(net, data.train.task, loss_of(c),
                                              standardization_from(first, data))};
}

const Recipe& recurrent_recipe(const ModelFamily& family, const Split& data) {
  return family.recipes[is_text(data) ? 0 : 1];
}

// The families differ in the names of model and recipes only.
ModelFamily recurrent_family(std::string_view name, std::string_view of_numbers,
                             std::string_view help) {
  return {.name = name,
          .help = help,
          .keys = {"name", "context", "layers", "width", "tied", "dropout"},
          .recipes = {{.name = name,
                       .width = nn::RecurrentLm{}.width,
                       .optimizer = "adamw",
                       .schedule = "cosine",
                       .batch = 32,
                       .rate = 0.01,
                       .clip_norm = 1,
                       .warmup = 100,
                       .steps = 2000},
                      {.name = of_numbers,
                       .width = nn::RecurrentNet{}.width,
                       .optimizer = "adam",
                       .schedule = "cosine",
                       .batch = 32,
                       .rate = 0.005,
                       .clip_norm = 1,
                       .epochs = 20,
                       .least_steps = 500}},
          .recipe = recurrent_recipe,
          .reads_text = true,
          .reads_numbers = true,
          .context = nn::RecurrentLm{}.context,
          .every_token = true,
          .fill = fill_recurrent,
          .make = make_recurrent,
          .go_on = go_on_recurrent};
}

}  // namespace

const ModelFamily& lstm_family() {
  static const ModelFamily family = recurrent_family(
      "lstm", "lstm of numbers", "LSTM layers, predicts the next token, or classes of sequences");
  return family;
}

const ModelFamily& gru_family() {
  static const ModelFamily family = recurrent_family("gru", "gru of numbers", "the same of GRUs");
  return family;
}

}  // namespace limpid::train::detail
