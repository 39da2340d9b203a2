#include "limpid/train/run_setup.h"

#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

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

std::uint64_t RunSetup::data_hash(ThreadPool* pool) const {
  struct Hashed {
    const Tensor* tensor;
    std::uint64_t hash = 0;
  };
  std::vector<Hashed> all;
  for (const Dataset* part : {&data.train, &data.validation, &data.test}) {
    all.push_back({&part->inputs});
    all.push_back({&part->targets});
    if (part->windows) all.push_back({&part->windows->tokens});
  }
  const auto hash_one = [](void* context, std::size_t i, int) {
    Hashed& one = static_cast<Hashed*>(context)[i];
    one.hash = limpid::hash(*one.tensor);
  };
  if (pool)
    pool->run(all.size(), hash_one, all.data());
  else
    for (std::size_t i = 0; i < all.size(); ++i) hash_one(all.data(), i, 0);
  std::uint64_t h = 0;
  for (const Hashed& one : all) h = limpid::hash(std::as_bytes(std::span(&one.hash, 1)), h);
  return h;
}

std::string identity_of(const TrainConfig& config, std::uint64_t data_hash) {
  return fmt::format("{}\ndata {:016x}\n", to_text(config), data_hash);
}

}  // namespace limpid::train
