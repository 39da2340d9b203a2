#include "limpid/train/run/run_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/data/data_config.h"
#include "limpid/data/split.h"
#include "limpid/train/config/detail/complete.h"
#include "limpid/train/config/detail/first_model.h"

namespace limpid::train {

Split load_data(const TrainConfig& config, const std::function<void()>& between) {
  LoadOptions options{.text = window_options_of(config), .between = between};
  if (config.task) options.task = find_name<Task>(*config.task);
  return limpid::load_data(config.data.value_or("digits"), options);
}

RunSetup::RunSetup(const TrainConfig& chosen, Split with)
    : data(std::move(with)), config(complete(chosen, data)) {
  const std::optional<Model> first = detail::first_model(config);
  if (first) network_hash_ = detail::hash_of(*first);
  detail::FamilyModel model = first ? detail::go_on_with(*first, config, data)
                                    : detail::family_of(config).make(config, data);
  network = std::move(model.network);
  problem = std::move(model.problem);
}

namespace {

TrainConfig with_custom_model(TrainConfig config) {
  if (config.model.value_or("custom") != "custom")
    detail::refuse("model.name", fmt::format("expected custom for a network of one's own, got {}",
                                             *config.model));
  config.model = "custom";
  return config;
}

}  // namespace

RunSetup::RunSetup(const TrainConfig& chosen, Split with, const CustomModel& model)
    : data(std::move(with)),
      config(complete(with_custom_model(chosen), data)),
      network(R"({"model":"custom"})"),
      problem(custom_problem(model, data.train, loss_of(config))),
      network_hash_(hash_of(model)) {}

namespace {

// Data in memory may have any name.
std::optional<SplitRule> split_rule_of_name(const std::string& name) {
  try {
    return split_rule_of(parse_data_spec(name));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string RunSetup::model_config() const {
  Json json = Json::parse(network);
  json["loss"] = to_json(loss_of(config));
  DataConfig trained = data_config(data.train);
  if (const auto rule = split_rule_of_name(config.data.value_or("digits"))) {
    trained.split = record_of(data, rule->shares, rule->seed);
    trained.drawn = drawn_examples(data.train);
  }
  json["data"] = to_json(trained);
  return json.dump({.replace_invalid = true});
}

std::uint64_t RunSetup::data_hash(ThreadPool* pool) const {
  return hash_of_parts(data, pool) ^ network_hash_;
}

std::string identity_of(const TrainConfig& config, std::uint64_t data_hash) {
  return fmt::format("{}\ndata {:016x}\n", to_text(config), data_hash);
}

bool is_same_run(std::string_view identity, const TrainConfig& config, std::uint64_t data_hash,
                 const std::string& source) {
  const std::size_t end = std::min(identity.rfind("\ndata "), identity.size());
  TrainConfig now = parse_train_config(identity.substr(0, end), source);
  if (identity != identity_of(now, data_hash)) return false;
  now.epochs = config.epochs;
  now.steps = config.steps;
  now.patience = config.patience;
  return to_text(now) == to_text(config);
}

}  // namespace limpid::train
