#include "limpid/data/data_config.h"

#include <fmt/format.h>

#include <charconv>

#include "limpid/core/enum_json.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"

namespace limpid {
namespace {

// A number that f64, which other readers of JSON have, may not hold.
std::uint64_t number_in(const JsonView& json, int base) {
  const std::string& text = json.as_string();
  const char* const end = text.data() + text.size();
  std::uint64_t number = 0;
  const auto [behind, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || behind != end)
    json.refuse(fmt::format("an unsigned 64-bit number in base {}", base));
  return number;
}

SplitRecord split_from_json(const JsonView& json) {
  const std::vector<JsonView> shares = json.at("shares").elements();
  if (shares.size() != 3) json.at("shares").refuse("three shares");
  SplitRatio ratio{.train = shares[0].as_integer(1, kMostShare),
                   .validation = shares[1].as_integer(0, kMostShare),
                   .test = shares[2].as_integer(0, kMostShare)};
  if (const std::optional<JsonView> fold = json.find("fold")) {
    const std::vector<JsonView> numbers = fold->elements();
    if (numbers.size() != 2) fold->refuse("a fold and the number of folds");
    ratio.folds = numbers[1].as_integer(2, kMostFolds);
    ratio.fold = numbers[0].as_integer(1, ratio.folds);
  }
  return {.shares = ratio,
          .seed = number_in(json.at("seed"), 10),
          .rows = json.at("rows").as_integer(0),
          .hash = number_in(json.at("hash"), 16)};
}

PictureShape picture_from_json(const JsonView& json) {
  constexpr std::int64_t kMost = 65535;  // of a side: a product of three fits
  const std::vector<JsonView> sizes = json.elements();
  if (sizes.size() != 3 && sizes.size() != 4)
    json.refuse("channels, height, width, and the number of a white pixel unless it is 1");
  return {sizes[0].as_integer(1, kMost), sizes[1].as_integer(1, kMost),
          sizes[2].as_integer(1, kMost), sizes.size() == 4 ? sizes[3].as_integer(0, kMost) : 1};
}

}  // namespace

DataConfig data_config(const Dataset& data) {
  DataConfig config = data;
  if (!config.class_names.empty()) config.tokenizer.reset();
  return config;
}

Json to_json(const DataConfig& config) {
  Json json{{"task", name(config.task)}};
  const auto write = [&](const char* key, const std::vector<std::string>& names) {
    if (!names.empty()) json[key] = names;
  };
  write("feature_names", config.feature_names);
  write("class_names", config.class_names);
  write("target_names", config.target_names);
  if (config.tokenizer) json["tokenizer"] = config.tokenizer->config();
  if (config.table) json["table"] = to_json(*config.table);
  if (const auto& split = config.split)
    json["split"] =
        Json{{"shares",
              Json::array({split->shares.train, split->shares.validation, split->shares.test})},
             {"seed", std::to_string(split->seed)},
             {"rows", split->rows},
             {"hash", fmt::format("{:016x}", split->hash)}};
  if (config.split && config.split->shares.folds > 0)
    json["split"]["fold"] = Json::array({config.split->shares.fold, config.split->shares.folds});
  for (const std::uint64_t hash : config.drawn)
    json["drawn"].push_back(fmt::format("{:016x}", hash));
  if (const auto& picture = config.picture) {
    json["picture"] = Json::array({picture->channels, picture->height, picture->width});
    if (picture->white != 1) json["picture"].push_back(picture->white);
  }
  return json;
}

DataConfig data_config_from_json(const JsonView& json) {
  DataConfig config;
  config.task = enum_from_json<Task>(json.at("task"));
  const auto read = [&](const char* key, std::vector<std::string>& names) {
    if (const auto found = json.find(key)) names = found->as_strings();
  };
  read("feature_names", config.feature_names);
  read("class_names", config.class_names);
  read("target_names", config.target_names);
  if (const auto found = json.find("tokenizer")) config.tokenizer = Tokenizer::from_config(*found);
  if (const auto found = json.find("table")) config.table = table_schema_from_json(*found);
  if (const auto found = json.find("split")) config.split = split_from_json(*found);
  if (const auto found = json.find("drawn"))
    for (const JsonView& hash : found->elements()) config.drawn.push_back(number_in(hash, 16));
  if (const auto found = json.find("picture")) config.picture = picture_from_json(*found);
  return config;
}

std::optional<DataConfig> data_config_of(const Model& model) {
  const std::optional<Json> config = Json::try_parse(model.config);
  if (!config || !config->contains("data")) return {};
  return data_config_from_json(JsonView(*config, "config").at("data"));
}

std::optional<Tokenizer> tokenizer_of(const DataConfig& config) {
  if (config.task != Task::kNextToken) return {};
  return config.tokenizer ? config.tokenizer : Tokenizer(Vocabulary(config.class_names));
}

}  // namespace limpid
