#include "apps/limpid/prompt.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "apps/limpid/command.h"
#include "limpid/core/error.h"
#include "limpid/data/data_config.h"
#include "limpid/data/pretrained.h"
#include "limpid/transforms/quantize.h"

namespace limpid::tool {

Tokenizer tokenizer_of(const Model& model) {
  const std::optional<DataConfig> config = data_config_of(model);
  if (std::optional<Tokenizer> tokenizer = config ? tokenizer_of(*config) : std::nullopt)
    return *tokenizer;
  throw Error(ErrorCode::kInvalidArgument,
              "the model has no tokenizer: " + missing_tokenizer(model));
}

std::optional<nn::Gpt> gpt_of(const Model& model) {
  const auto config = nlohmann::json::parse(model.config, nullptr, false);
  if (!config.is_object() || !config.contains("model") || config.at("model") != "gpt")
    return std::nullopt;
  return nn::Gpt::from_config(model.config);
}

std::vector<std::int32_t> tokens_of_prompt(const Tokenizer& tokenizer, const std::string& text) {
  if (text.empty()) throw UsageError("--prompt: a character at least is expected");
  std::vector<std::int32_t> tokens;
  if (tokenizer.marks().begin) tokens.push_back(*tokenizer.marks().begin);
  const Tensor encoded = tokenizer.encode(text);
  const auto values = encoded.values<std::int32_t>();
  tokens.insert(tokens.end(), values.begin(), values.end());
  return tokens;
}

Model at_length(Model model, std::int64_t tokens) {
  const std::optional<nn::Gpt> net = gpt_of(model);
  if (!net) return model;
  if (tokens > net->context)
    throw UsageError(
        fmt::format("--prompt: {} tokens came, the model sees {} at most", tokens, net->context));
  model.function = with_narrow_params(net->function(tokens), model.params);
  check_model(model);
  return model;
}

Tensor prompt_input(const Model& model, const std::vector<std::int32_t>& tokens) {
  const Input& input = data_input(model);
  const auto wanted = static_cast<std::size_t>(input.type.shape.elements());
  if (input.type.dtype != Dtype::kI32 || tokens.size() < wanted)
    throw UsageError(fmt::format("--prompt: {} tokens came, the model takes {}", tokens.size(),
                                 to_string(input.type)));
  return Tensor::from<std::int32_t>(input.type.shape.insert(0, 1), std::span(tokens).last(wanted));
}

}  // namespace limpid::tool
