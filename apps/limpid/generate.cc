// limpid generate: a text that a language model goes on with.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/command.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/data/data_config.h"
#include "limpid/data/text.h"
#include "limpid/formats/in_quotes.h"
#include "limpid/nn/sampling.h"

namespace limpid::tool {
namespace {

struct Options {
  ModelOptions model;
  std::optional<std::string> prompt;
  std::int64_t tokens = 500;
  nn::Sampling sampling;
  std::uint64_t seed = 0;
  int threads = 1;
};

Vocabulary vocabulary_of(const Model& model, const std::string& path) {
  const std::optional<DataConfig> config = data_config_of(model);
  if (!config || config->task != Task::kNextToken)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: was not trained on a text, and goes on with none", in_quotes(path)));
  const Vocabulary vocabulary(config->class_names);
  const Input& tokens = data_input(model);
  const Type& logits = model.function.type(model.function.outputs().front().value);
  if (tokens.type.dtype != Dtype::kI32 || tokens.type.shape.rank() != 1 ||
      !(logits == Type{Dtype::kF32, {vocabulary.size()}}))
    throw Error(
        ErrorCode::kShape,
        fmt::format("{}: goes from {} to {}, from tokens i32 to {} logits is expected",
                    in_quotes(path), to_string(tokens.type), to_string(logits), vocabulary.size()));
  return vocabulary;
}

// As many tokens as the model sees: the last ones of the prompt, and before a short one its first
// character again and again.
std::vector<std::int32_t> window_of(const Tensor& prompt, std::int64_t context) {
  const std::span<const std::int32_t> all = prompt.values<std::int32_t>();
  const auto width = static_cast<std::size_t>(context);
  std::vector<std::int32_t> window(width - std::min(width, all.size()), all.front());
  const auto last = all.last(width - window.size());
  window.insert(window.end(), last.begin(), last.end());
  return window;
}

// What stands before a text that begins: a line's end, or the first character of a vocabulary that
// has none.
std::string beginning(const Vocabulary& vocabulary) {
  const std::vector<std::string> all = vocabulary.characters();
  return std::find(all.begin(), all.end(), "\n") != all.end() ? "\n" : all.front();
}

void generate(const Options& options) {
  const Model model = open_model(options.model);
  const Vocabulary vocabulary = vocabulary_of(model, options.model.path);
  if (options.prompt == "") throw UsageError("--prompt: a character at least is expected");
  std::vector<std::int32_t> window =
      window_of(vocabulary.encode(options.prompt.value_or(beginning(vocabulary))),
                data_input(model).type.shape.elements());
  ThreadPool pool({.threads = options.threads});
  Workspace workspace(compile(bound(model)), &pool);
  std::vector<float> logits(static_cast<std::size_t>(vocabulary.size()));
  print(options.prompt.value_or(""));
  const Key key(options.seed);
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const void* const in[] = {window.data()};
    void* const out[] = {logits.data()};
    workspace.run(in, out);
    const std::int32_t token =
        nn::sample(logits, options.sampling, key.fold_in(static_cast<std::uint64_t>(i)));
    print(vocabulary.decode({&token, 1}));
    flush();
    std::rotate(window.begin(), window.begin() + 1, window.end());
    window.back() = token;
  }
  print("\n");
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("generate", "A text that a language model goes on with, drawn by a seed");
  add_model_option(*command, options->model);
  command->add_option("--prompt", options->prompt, "The text before it; by default a line's end")
      ->type_name("TEXT");
  command->add_option("--tokens", options->tokens, "Characters to draw")
      ->check(within(0, kMostExamples))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--temperature", options->sampling.temperature,
                   "Below 1 the likely is drawn more often, above 1 less; 0: always the likeliest")
      ->check(positive(true))
      ->type_name("T")
      ->capture_default_str();
  command->add_option("--top-k", options->sampling.top_k, "Draw from the K likeliest alone; 0: all")
      ->check(within(0, kMostExamples))
      ->type_name("K")
      ->capture_default_str();
  command
      ->add_option("--top-p", options->sampling.top_p,
                   "Draw from the likeliest that have probability P together")
      ->check(positive())
      ->type_name("P")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of the draws")
      ->type_name("S")
      ->capture_default_str();
  add_threads_option(*command, options->threads);
  command->callback([options] { generate(*options); });
}

}  // namespace limpid::tool
