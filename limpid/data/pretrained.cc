#include "limpid/data/pretrained.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "limpid/core/error.h"
#include "limpid/data/data_config.h"
#include "limpid/data/tokenizer_files.h"
#include "limpid/formats/huggingface.h"
#include "limpid/formats/in_quotes.h"

namespace limpid {

Model load_pretrained(const std::filesystem::path& folder, std::int64_t length) {
  Model model = load_huggingface(folder, length);
  const std::optional<Tokenizer> tokenizer = load_tokenizer(folder);
  if (!tokenizer) return model;
  const std::int64_t logits = model.function.type(model.function.outputs()[0].value).shape.back();
  if (tokenizer->size() > logits)
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: the tokenizer has {} tokens, the model {}",
                            in_quotes(folder.string()), tokenizer->size(), logits));
  DataConfig data{.task = Task::kNextToken};
  data.tokenizer = tokenizer;
  auto config = nlohmann::ordered_json::parse(model.config);
  config["data"] = nlohmann::ordered_json::parse(to_json(data));
  model.config = config.dump();
  return model;
}

void save_pretrained(const std::filesystem::path& folder, const Model& model) {
  save_huggingface(folder, model);
  const std::optional<DataConfig> data = data_config_of(model);
  if (const auto tokenizer = data ? tokenizer_of(*data) : std::nullopt)
    save_tokenizer(folder, *tokenizer);
}

}  // namespace limpid
