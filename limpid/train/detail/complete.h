// What complete() is made of: the recipes, and the model's part.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "limpid/train/config.h"

namespace limpid::train::detail {

// What suits a model and its data where nobody chose, as docs/reference/train.md has it.
struct Recipe {
  TrainConfig::Integers hidden;  // of mlp and charlm
  double dropout = 0;
  std::string optimizer;
  std::string schedule;
  std::int64_t batch = 0;
  // Of the recipe's own optimiser, where they are not what it usually has.
  std::optional<double> rate = {}, beta2 = {}, weight_decay = {};
  std::optional<double> clip_norm = {};
  std::int64_t warmup = 0;  // at most a tenth of the run
  // How long: one of epochs and steps; epochs until there are least_steps.
  std::int64_t epochs = 0, steps = 0, least_steps = 0;
};

// Throws kInvalidArgument, naming the key.
[[noreturn]] void refuse(std::string_view path, const std::string& why);

template <class T>
void fill(std::optional<T>& choice, const T& value) {
  if (!choice) choice = value;
}

// Fills in model.name: charlm for text, else mlp. Throws kInvalidArgument where the data is for
// another one.
void fill_model_name(TrainConfig& config, Task task);
// Everything else of the model.
void fill_model(TrainConfig& config, const Split& data, const Recipe& recipe);

}  // namespace limpid::train::detail
