// Configurations of training runs.
#include "limpid/data/synthetic.h"
#include "limpid/train/config/config.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

std::string text_of(const train::TrainConfig& config) {
  return to_json(config).dump({.replace_invalid = true});
}

void read(std::span<const std::byte> bytes) {
  const train::TrainConfig config = train::parse_train_config(fuzz::text_of(bytes), "fuzz");
  const std::string text = text_of(config);
  require(text_of(train::parse_train_config(text, "fuzz")) == text,
          "a configuration is read as it was written");
  static const Split data = synthetic_split("moons", 0, {.count = 20});
  const train::TrainConfig whole = train::complete(config, data);
  const std::string all = text_of(whole);
  require(text_of(train::complete(train::parse_train_config(all, "fuzz"), data)) == all,
          "a complete configuration stays as it is");
  train::options_of(whole, data);
  train::loss_of(whole);
  train::network_of(whole);
}

std::vector<Bytes> seeds() {
  const Split data = synthetic_split("moons", 0, {.count = 20});
  std::vector<Bytes> all;
  for (
      const char* text :
      {"{}",
       R"({"model": {"hidden": [3]}, "optimizer": {"name": "adamw", "lr": 0.01}, "epochs": 2})",
       R"({"optimizer": {"name": "sgd", "nesterov": true}, "schedule": {"name": "step", "warmup": 3}})",
       R"({"loss": {"name": "cross_entropy", "label_smoothing": 0.1}, "seed": 7, "batch": 4})"}) {
    all.push_back(bytes_of(text));
    goes_well([&] {
      all.push_back(
          bytes_of(text_of(train::complete(train::parse_train_config(text, "seed"), data))));
    });
  }
  return all;
}

std::vector<std::string> words() {
  std::vector<std::string> all = data_config().words();
  for (const train::ConfigKey& key : train::config_keys()) {
    all.push_back("\"" + std::string(key.name()) + "\"");
    if (key.choices)
      for (const std::string& choice : key.choices()) all.push_back("\"" + choice + "\"");
  }
  return all;
}

}  // namespace

const Target& train_config() {
  static const Target target{"train_config", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
