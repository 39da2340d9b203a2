// limpid eval: how good a model is on the test part of a data set.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/data_spec.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "apps/limpid/scores.h"
#include "apps/limpid/threads.h"

namespace limpid::tool {
namespace {

struct EvalArguments {
  ModelOptions model;
  std::string data;
  int threads = 1;
  bool json = false;
};

Json test_json(const Dataset& test, const train::TestResult& result) {
  Json json{{"data", test.name}, {"examples", test.size()}};
  json.update(scores_json(result));
  return json;
}

void eval(const EvalArguments& options) {
  const DataSpec spec = parse_data_option(options.data);
  const Model model = open_model(options.model);
  const Dataset test = load_test_part(spec, model);
  ThreadPool pool({.threads = options.threads});
  const train::TestResult result = scores_of(model, test, pool);
  if (options.json)
    print_json(test_json(test, result));
  else
    print(fmt::format("examples  {}\n\n{}", test.size(), scores_text(test, result)));
}

}  // namespace

void add_eval(Command& app) {
  auto options = std::make_shared<EvalArguments>();
  Command command = app.command("eval", "Evaluate a model on a test set: loss and metrics");
  add_model_option(command, options->model);
  command.option("--data", options->data, data_spec_help()).type("SPEC").required();
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { eval(*options); });
}

}  // namespace limpid::tool
