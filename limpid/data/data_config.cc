#include "limpid/data/data_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "limpid/core/error.h"
#include "limpid/formats/detail/bounded_json.h"
#include "limpid/formats/in_quotes.h"

namespace limpid {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorCode::kFormat, fmt::format("data configuration: {}", what));
}

DataConfig config_of(const Json& json) {
  const auto task = json.at("task").get<std::string>();
  if (!task_from_name(task)) refuse(fmt::format("no task is called {}", in_quotes(task)));
  DataConfig config;
  config.task = *task_from_name(task);
  const auto read = [&](const char* key, std::vector<std::string>& names) {
    if (json.contains(key)) names = json.at(key).get<std::vector<std::string>>();
  };
  read("feature_names", config.feature_names);
  read("class_names", config.class_names);
  read("target_names", config.target_names);
  if (json.contains("tokenizer"))
    config.tokenizer = Tokenizer::from_config(json.at("tokenizer").dump());
  if (json.contains("table")) config.table = table_schema_from_json(json.at("table").dump());
  return config;
}

}  // namespace

DataConfig data_config(const Dataset& data) {
  DataConfig config{data.task, data.feature_names, data.class_names, data.target_names, {}, {}};
  if (data.class_names.empty()) config.tokenizer = data.tokenizer;
  if (!data.table_schema.empty()) config.table = table_schema_from_json(data.table_schema);
  return config;
}

std::string to_json(const DataConfig& config) {
  Json json{{"task", std::string(name(config.task))}};
  const auto write = [&](const char* key, const std::vector<std::string>& names) {
    if (!names.empty()) json[key] = names;
  };
  write("feature_names", config.feature_names);
  write("class_names", config.class_names);
  write("target_names", config.target_names);
  if (config.tokenizer) json["tokenizer"] = Json::parse(config.tokenizer->config());
  if (config.table) json["table"] = Json::parse(to_json(*config.table));
  return json.dump();
}

DataConfig data_config_from_json(std::string_view json) {
  try {
    return config_of(detail::parse_bounded_json(json));
  } catch (const nlohmann::json::exception& e) {
    refuse(e.what());
  }
}

std::optional<DataConfig> data_config_of(const Model& model) {
  const Json config = detail::parse_bounded_json(model.config, false);
  if (!config.is_object() || !config.contains("data")) return {};
  return data_config_from_json(config.at("data").dump());
}

std::optional<Tokenizer> tokenizer_of(const DataConfig& config) {
  if (config.task != Task::kNextToken) return {};
  return config.tokenizer ? config.tokenizer : Tokenizer(Vocabulary(config.class_names));
}

}  // namespace limpid
