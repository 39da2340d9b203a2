#include "limpid/models/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "limpid/core/error.h"
#include "limpid/core/json.h"
#include "limpid/data/data_config.h"
#include "limpid/models/pretrained.h"
#include "limpid/nn/language_model.h"
#include "limpid/transforms/quantize.h"

namespace limpid {

Tokenizer tokenizer_of(const Model& model) {
  const std::optional<DataConfig> config = data_config_of(model);
  if (std::optional<Tokenizer> tokenizer = config ? tokenizer_of(*config) : std::nullopt)
    return *tokenizer;
  const std::optional<Json> json = Json::try_parse(model.config);
  if (const Json* const own = json ? json->find("tokenizer") : nullptr)
    return Tokenizer::from_config(JsonView(*own, "tokenizer"));
  throw Error(ErrorCode::kInvalidArgument,
              "the model has no tokenizer: " + missing_tokenizer(model));
}

std::optional<nn::Gpt> gpt_of(const Model& model) {
  const std::optional<Json> config = Json::try_parse(model.config);
  const Json* const kind = config ? config->find("model") : nullptr;
  if (!kind || *kind != "gpt") return std::nullopt;
  return nn::Gpt::from_config(model.config);
}

std::optional<nn::RecurrentLm> recurrent_lm_of(const Model& model) {
  const std::optional<Json> config = Json::try_parse(model.config);
  const Json* const kind = config ? config->find("model") : nullptr;
  if (!kind || (*kind != "lstm" && *kind != "gru") || !config->contains("vocabulary"))
    return std::nullopt;
  return nn::RecurrentLm::from_config(model.config);
}

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, std::string_view text) {
  if (text.empty())
    throw Error(ErrorCode::kInvalidArgument, "prompt: expected at least one character");
  std::vector<std::int32_t> tokens;
  if (tokenizer.marks().begin) tokens.push_back(*tokenizer.marks().begin);
  const Tensor encoded = tokenizer.encode(text);
  const auto values = encoded.values<std::int32_t>();
  tokens.insert(tokens.end(), values.begin(), values.end());
  return tokens;
}

std::size_t longest_token(const Tokenizer& tokenizer) {
  std::size_t longest = 1;
  for (std::int32_t token = 0; token < tokenizer.size(); ++token)
    longest = std::max(longest, tokenizer.decode({&token, 1}).size());
  return longest;
}

std::vector<std::int32_t> start_tokens(const Tokenizer& tokenizer) {
  const Tokenizer::Marks& marks = tokenizer.marks();
  if (marks.begin || marks.end) return {marks.begin ? *marks.begin : *marks.end};
  try {
    return prompt_tokens(tokenizer, "\n");
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kNotFound) throw;
    return {0};
  }
}

Model at_length(Model model, std::int64_t tokens) {
  if (const std::optional<nn::RecurrentLm> net = recurrent_lm_of(model)) {
    model.function = with_narrow_params(net->function(tokens), model.params);
    check_model(model);
    return model;
  }
  const std::optional<nn::Gpt> net = gpt_of(model);
  if (!net) return model;
  if (tokens > net->context)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("prompt: expected at most {} tokens, the context length, got {}",
                            net->context, tokens));
  model.function = with_narrow_params(net->function(tokens), model.params);
  check_model(model);
  return model;
}

Tensor prompt_input(const Model& model, std::span<const std::int32_t> tokens) {
  const Input& input = data_input(model);
  if (input.type.dtype != Dtype::kI32)
    throw Error(ErrorCode::kDtype, fmt::format("prompt: expected a model that takes tokens i32, "
                                               "got one that takes {}",
                                               to_string(input.type)));
  return Tensor::generate<std::int32_t>(
      input.type.shape.insert(0, 1),
      [&](std::span<std::int32_t> window) { nn::fill_window(tokens, window); });
}

}  // namespace limpid
