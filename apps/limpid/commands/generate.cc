// limpid generate: text from a language model.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/threads.h"
#include "limpid/models/generate.h"

namespace limpid::tool {
namespace {

struct GenerateArguments {
  ModelOptions model;
  GenerateOptions generate;
  int threads = 1;
  bool json = false;
};

void print_texts(Model model, const GenerateOptions& options, const std::string& prompt) {
  std::vector<std::string> texts(static_cast<std::size_t>(options.sequences));
  generate(std::move(model), options,
           [&](std::size_t i, std::string_view characters) { texts[i] += characters; });
  Json list = Json::array();
  for (std::size_t i = 0; i < texts.size(); ++i)
    list.push_back({{"seed", options.seed + i}, {"text", texts[i]}});
  print_json(Json{{"prompt", prompt}, {"texts", list}});
}

// Prints the first text while it is generated, the others after it.
void generate_texts(GenerateArguments options) {
  check_prompt(options.generate.prompt);
  ThreadPool pool({.threads = options.threads});
  options.generate.pool = &pool;
  const std::string prompt = options.generate.prompt.value_or("");
  Model model = open_model(options.model);
  if (options.json) return print_texts(std::move(model), options.generate, prompt);
  std::vector<std::string> later(static_cast<std::size_t>(options.generate.sequences - 1), prompt);
  bool begun = false;
  const auto begin = [&] {
    if (!begun) print(prompt);
    begun = true;
  };
  generate(std::move(model), options.generate, [&](std::size_t i, std::string_view characters) {
    if (i > 0) {
      later[i - 1] += characters;
      return;
    }
    begin();
    print(characters);
    flush();
  });
  begin();
  print("\n");
  for (const std::string& text : later) print("\n---\n" + text + "\n");
}

}  // namespace

void add_generate(Command& app) {
  auto options = std::make_shared<GenerateArguments>();
  Command command =
      app.command("generate", "Generate text with a language model, reproducibly from a seed");
  add_model_option(command, options->model);
  command.option("--prompt", options->generate.prompt,
                 "Text to continue; default: BOS, else EOS, else newline, else token 0");
  command.option("--tokens", options->generate.tokens, "Number of tokens to generate")
      .check(within(0, kMostExamples));
  command
      .option("--sequences", options->generate.sequences,
              "Number of texts to generate at once; text i is the one that seed S + i generates "
              "alone")
      .check(within(1, 1024));
  command
      .option("--temperature", options->generate.sampling.temperature,
              "Divides the logits before softmax; 0: always the most probable token")
      .check(not_negative())
      .type("T");
  command
      .option("--top-k", options->generate.sampling.top_k,
              "Sample from the K most probable tokens only; 0: from all")
      .check(within(0, kMostExamples))
      .type("K");
  command
      .option("--top-p", options->generate.sampling.top_p,
              "Sample from the most probable tokens whose probabilities add up to P")
      .check(share())
      .type("P");
  command.option("--seed", options->generate.seed, "Random seed of the first text").type("S");
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON, once all texts are there");
  command.run([options] { generate_texts(*options); });
}

}  // namespace limpid::tool
