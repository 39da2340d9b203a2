#include "limpid/train/run_setup.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "limpid/core/arithmetic.h"
#include "limpid/data/data_config.h"

namespace limpid::train {
namespace {

DataSpec spec_of(const TrainConfig& config) {
  return parse_data_spec(config.data.value_or("digits"));
}

}  // namespace

Split load_data(const TrainConfig& config) {
  const DataSpec spec = spec_of(config);
  LoadOptions options{.text = window_options_of(config)};
  if (config.task) options.task = task_from_name(*config.task);
  return limpid::load_data(spec, options);
}

RunSetup::RunSetup(const TrainConfig& chosen, Split with)
    : data(std::move(with)), config(complete(chosen, data)) {
  const Loss loss = loss_of(config);
  if (*config.model == "gpt") {
    const nn::Gpt net = gpt_of(config, data.train.classes);
    network = net.config();
    problem = gpt_problem(net, loss);
  } else if (*config.model == "charlm") {
    const nn::CharLm net = char_lm_of(config);
    network = net.config();
    problem = char_lm_problem(net, loss);
  } else {
    const nn::Mlp net = network_of(config);
    network = net.config();
    problem = mlp_problem(net, data.train.task, loss,
                          fit_standardization(data.train, scaling_of(spec_of(config))));
  }
}

std::string RunSetup::model_config() const {
  Json json = Json::parse(network);
  json["loss"] = to_json(loss_of(config));
  json["data"] = to_json(data_config(data.train));
  return json.dump({.replace_invalid = true});
}

std::string RunSetup::identity() const {
  std::uint64_t h = 0;
  const auto add = [&](const Tensor& t) {
    const std::uint64_t next = limpid::hash(t);
    h = limpid::hash(std::as_bytes(std::span(&next, 1)), h);
  };
  for (const Dataset* part : {&data.train, &data.validation, &data.test}) {
    add(part->inputs);
    add(part->targets);
    if (part->windows) add(part->windows->tokens);
  }
  return fmt::format("{}\ndata {:016x}\n", to_text(config), h);
}

}  // namespace limpid::train
