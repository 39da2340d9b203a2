#include "limpid/models/pretrained.h"

#include <fmt/format.h>

#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/chat/chat.h"
#include "limpid/data/data_config.h"
#include "limpid/data/text/tokenizer_files.h"
#include "limpid/formats/huggingface.h"
#include "limpid/models/text_embedder.h"

namespace limpid {
namespace {

constexpr const char* kUnsupported = "unsupported_tokenizer";

std::optional<Tokenizer> tokenizer_in(const Model& model) {
  const std::optional<DataConfig> data = data_config_of(model);
  return data ? tokenizer_of(*data) : std::nullopt;
}

}  // namespace

Model load_pretrained(const std::filesystem::path& folder, std::int64_t length) {
  Model model = load_huggingface(folder, length);
  Json config = Json::parse(model.config);
  std::optional<Tokenizer> tokenizer;
  try {
    tokenizer = load_tokenizer(folder);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kUnsupported) throw;
    config[kUnsupported] = e.what();
  }
  if (!tokenizer) {
    if (!config.contains(kUnsupported))
      config[kUnsupported] =
          "its folder has no tokenizer.json, no tokenizer.model, no vocab.json with merges.txt, "
          "and no vocab.txt";
    model.config = config.dump();
    return model;
  }
  const std::optional<nn::TextEncoder> encoder = text_encoder_of(model);
  const std::int64_t known =
      encoder ? encoder->vocabulary
              : model.function.type(model.function.outputs()[0].value).shape.back();
  if (tokenizer->size() > known)
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: the tokenizer has {} tokens, the model {}",
                            in_quotes(folder.string()), tokenizer->size(), known));
  if (encoder) {
    config["tokenizer"] = tokenizer->config();
    model.config = config.dump();
    return model;
  }
  DataConfig data{.task = Task::kNextToken};
  data.tokenizer = tokenizer;
  config["data"] = to_json(data);
  if (Json chat = load_chat_config(folder); !chat.is_null()) config["chat"] = std::move(chat);
  model.config = config.dump();
  return model;
}

std::string missing_tokenizer(const Model& model) {
  const Json config = Json::try_parse(model.config).value_or(Json());
  const Json* const why = config.find(kUnsupported);
  if (why && why->is_string()) return why->as_string();
  return "it was not trained on a text";
}

void save_pretrained(const std::filesystem::path& folder, const Model& model) {
  const std::optional<Tokenizer> tokenizer = tokenizer_in(model);
  const bool stored = tokenizer && fits_tokenizer_files(*tokenizer);
  // load_tokenizer reads the first one that is there.
  for (const char* other :
       {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "vocab.txt"}) {
    std::error_code ignored;
    if (stored && other == std::string_view("vocab.json")) break;
    if (std::filesystem::exists(folder / other, ignored))
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{} has another tokenizer, {}, which would be read with the model; "
                              "expected a folder without it",
                              in_quotes(folder.string()), in_quotes(other)));
  }
  save_huggingface(folder, model, stored ? tokenizer->marks().end : std::nullopt);
  if (stored) save_tokenizer(folder, *tokenizer);
}

std::vector<std::string> lost_in_pretrained(const Model& model) {
  std::vector<std::string> lost;
  if (const std::optional<DataConfig> data = data_config_of(model)) {
    const auto tokenizer = tokenizer_of(*data);
    if (tokenizer && !fits_tokenizer_files(*tokenizer)) lost.emplace_back("the tokenizer");
    if (!data->feature_names.empty() || !data->target_names.empty() || data->table)
      lost.emplace_back("the column names");
    // Those of a language model are its tokens.
    if (!data->class_names.empty() && !tokenizer) lost.emplace_back("the class names");
  }
  const Json config = Json::try_parse(model.config).value_or(Json());
  if (config.is_object() && config.contains("chat")) lost.emplace_back("the chat template");
  return lost;
}

}  // namespace limpid
