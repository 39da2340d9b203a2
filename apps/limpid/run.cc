// limpid run: what a model gives for some examples.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/answers.h"
#include "apps/limpid/command.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

struct Options {
  std::string model;
  ExampleOptions examples;
  int threads = 1;
  bool json = false;
};

// The output's name, or "output", and its numbers.
void print_output(const Model& model, const Tensor& output, bool json) {
  const std::string& name = model.function.outputs().front().name;
  if (json) {
    print_json(Json{{name.empty() ? "output" : name, tool::json_of(output)}});
    return;
  }
  std::vector<std::string> numbers;
  for (float v : output.values<float>()) numbers.push_back(short_number(static_cast<double>(v)));
  print(fmt::format("{} = {}\n", name.empty() ? "output" : printable(name),
                    fmt::join(numbers, ", ")));
}

void run(const Options& options) {
  const Model model = load_model(options.model);
  const Examples examples = read_examples(options.examples, model);
  if (examples.data) check_outputs(*examples.data, model);
  ThreadPool pool({.threads = options.threads});
  const Tensor output = predict(model, examples.inputs, &pool);
  if (!examples.data) {
    print_output(model, output, options.json);
    return;
  }
  if (options.json)
    print_json(answers_json(examples, output));
  else
    print_answers(examples, output);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "What a model gives for some examples");
  add_model_option(*command, options->model);
  add_example_options(*command, options->examples);
  options->examples.count.reset();
  command
      ->add_option("--count", options->examples.count,
                   "How many examples of --data; by default 1, or all of a table")
      ->needs(command->get_option("--data"))
      ->check(within(1, kMostExamples))
      ->type_name("N");
  add_threads_option(*command, options->threads);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { run(*options); });
}

}  // namespace limpid::tool
