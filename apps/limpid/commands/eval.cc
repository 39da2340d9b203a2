// limpid eval: metrics of a model on examples that it was not trained on.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/data_spec.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/scores.h"
#include "apps/limpid/support/threads.h"

namespace limpid::tool {
namespace {

struct EvalArguments {
  ModelOptions model;
  std::string data;
  bool all = false;
  int threads = 1;
  bool json = false;
};

Json test_json(const HeldOut& test, const train::TestResult& result) {
  Json json{{"data", test.examples.name}};
  add_examples(json, test);
  json.update(scores_json(result));
  return json;
}

void eval(const EvalArguments& options) {
  const DataSpec spec = parse_data_option(options.data);
  const Model model = open_model(options.model);
  const HeldOut test = load_test_part(spec, model, options.all);
  print_notes(test.examples);
  ThreadPool pool({.threads = options.threads});
  const train::TestResult result = scores_of(model, test.examples, pool);
  if (options.json)
    print_json(test_json(test, result));
  else
    print(examples_text(test) + "\n" + scores_text(test.examples, result));
}

}  // namespace

void add_eval(Command& app) {
  auto options = std::make_shared<EvalArguments>();
  Command command = app.command("eval", "Evaluate a model on a test set: loss and metrics");
  add_model_option(command, options->model);
  command.option("--data", options->data, data_spec_help()).type("SPEC").required();
  command.flag(
      "--all", options->all,
      "Score every row of a table, those that the model was trained on too; default: those "
      "that its training held out");
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { eval(*options); });
}

}  // namespace limpid::tool
