#include "limpid/models/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/data/text/character_stream.h"
#include "limpid/models/prompt.h"
#include "limpid/nn/generation.h"

namespace limpid {
namespace {

// A text that is being generated: until it ends, as one of the model's sequences.
struct Text {
  std::optional<nn::Generation> generation;
  CharacterStream characters;
};

}  // namespace

nn::LanguageModel language_model_of(const Model& model, const nn::LanguageModel::Options& options) {
  if (const std::optional<nn::Gpt> net = gpt_of(model)) return {*net, model.params, options};
  if (const std::optional<nn::RecurrentLm> net = recurrent_lm_of(model))
    return {*net, model.params, options};
  return {model.function, model.params, options};
}

void generate(Model model, const GenerateOptions& options, const TextListener& listener) {
  const Tokenizer tokenizer = tokenizer_of(model);
  const std::vector<std::int32_t> prompt =
      options.prompt ? prompt_tokens(tokenizer, *options.prompt) : start_tokens(tokenizer);
  nn::LanguageModel::Options sizes{.sequences = options.sequences, .pool = options.pool};
  if (const std::optional<nn::Gpt> net = gpt_of(model)) {
    const auto read = static_cast<std::int64_t>(prompt.size());
    const std::int64_t all = sum_or_most(read, options.tokens);
    sizes.capacity = std::min(net->context, all);
    // Once the context is full, text is read again; before that, no pass is longer than the prompt.
    if (all <= net->context) sizes.chunk = std::clamp(read, std::int64_t{1}, sizes.chunk);
  }
  if (recurrent_lm_of(model))
    sizes.chunk =
        std::clamp(static_cast<std::int64_t>(prompt.size()), std::int64_t{1}, sizes.chunk);
  nn::LanguageModel language_model = language_model_of(model, sizes);
  if (tokenizer.size() > language_model.vocabulary())
    throw Error(ErrorCode::kShape,
                fmt::format("generate: the tokenizer has {} tokens, the model gives {} logits",
                            tokenizer.size(), language_model.vocabulary()));
  language_model.prepare();
  model = {};

  std::vector<Text> texts(static_cast<std::size_t>(options.sequences));
  for (std::size_t i = 0; i < texts.size(); ++i)
    texts[i].generation.emplace(language_model, prompt,
                                nn::Generation::Options{.sampling = options.sampling,
                                                        .key = Key(options.seed + i),
                                                        .vocabulary = tokenizer.size()});
  const auto running = [](const Text& text) { return text.generation.has_value(); };
  const auto reading = [](const Text& text) {
    return text.generation && !text.generation->ready();
  };
  for (std::int64_t drawn = 0; drawn < options.tokens; ++drawn) {
    if (std::none_of(texts.begin(), texts.end(), running)) break;
    while (std::any_of(texts.begin(), texts.end(), reading)) language_model.step();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Text& text = texts[i];
      if (!text.generation) continue;
      const std::int32_t token = text.generation->draw();
      if (tokenizer.ends_text(token)) {
        text.generation.reset();
        continue;
      }
      const std::string characters = text.characters.take(tokenizer.decode({&token, 1}));
      if (!characters.empty()) listener(i, characters);
    }
  }
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (const std::string rest = texts[i].characters.rest(); !rest.empty()) listener(i, rest);
}

}  // namespace limpid
