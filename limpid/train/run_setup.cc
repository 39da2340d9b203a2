#include "limpid/train/run_setup.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "limpid/core/arithmetic.h"
#include "limpid/data/data_config.h"
#include "limpid/train/detail/complete.h"

namespace limpid::train {
Split load_data(const TrainConfig& config) {
  LoadOptions options{.text = window_options_of(config)};
  if (config.task) options.task = task_from_name(*config.task);
  return limpid::load_data(config.data.value_or("digits"), options);
}

RunSetup::RunSetup(const TrainConfig& chosen, Split with)
    : data(std::move(with)), config(complete(chosen, data)) {
  detail::FamilyModel model = detail::family_of(config).make(config, data);
  network = std::move(model.network);
  problem = std::move(model.problem);
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
