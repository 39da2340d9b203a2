// limpid generate: a text that a language model goes on with.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "apps/limpid/command.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/data/generate.h"

namespace limpid::tool {
namespace {

struct Options {
  ModelOptions model;
  GenerateOptions generate;
  int threads = 1;
};

// Prints the first text while it is generated, the others after it.
void generate_texts(Options options) {
  check_prompt(options.generate.prompt);
  ThreadPool pool({.threads = options.threads});
  options.generate.pool = &pool;
  const std::string prompt = options.generate.prompt.value_or("");
  Model model = open_model(options.model);
  std::vector<std::string> later(static_cast<std::size_t>(options.generate.sequences - 1), prompt);
  bool begun = false;
  const auto begin = [&] {
    if (!begun) print_text(prompt);
    begun = true;
  };
  generate(std::move(model), options.generate, [&](std::size_t i, std::string_view characters) {
    if (i > 0) {
      later[i - 1] += characters;
      return;
    }
    begin();
    print_text(characters);
    flush();
  });
  begin();
  print_text("\n");
  for (const std::string& text : later) print_text("\n---\n" + text + "\n");
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("generate", "A text that a language model goes on with, drawn by a seed");
  add_model_option(*command, options->model);
  command
      ->add_option("--prompt", options->generate.prompt,
                   "The text before it; by default a mark of a beginning, or a line's end")
      ->type_name("TEXT");
  command->add_option("--tokens", options->generate.tokens, "Tokens to draw")
      ->check(within(0, kMostExamples))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--sequences", options->generate.sequences,
                   "Texts to draw at once, each as by a seed of its own: S, S + 1, ...")
      ->check(within(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--temperature", options->generate.sampling.temperature,
                   "Below 1 the likely is drawn more often, above 1 less; 0: always the likeliest")
      ->check(positive(true))
      ->type_name("T")
      ->capture_default_str();
  command
      ->add_option("--top-k", options->generate.sampling.top_k,
                   "Draw from the K likeliest alone; 0: all")
      ->check(within(0, kMostExamples))
      ->type_name("K")
      ->capture_default_str();
  command
      ->add_option("--top-p", options->generate.sampling.top_p,
                   "Draw from the likeliest that have probability P together")
      ->check(positive())
      ->type_name("P")
      ->capture_default_str();
  command->add_option("--seed", options->generate.seed, "Of the draws")
      ->type_name("S")
      ->capture_default_str();
  add_threads_option(*command, options->threads);
  command->callback([options] { generate_texts(*options); });
}

}  // namespace limpid::tool
