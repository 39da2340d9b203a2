// limpid eval: how good a classifier is on the test part of a data set.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/data_spec.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/train/classifier.h"

namespace limpid::tool {
namespace {

struct Options {
  std::string model;
  std::string data;
  int threads = 1;
  bool json = false;
};

void eval(const Options& options) {
  const DataSpec spec = parse_data_spec(options.data);
  const Model model = load_model(options.model);
  // Nobody reads the training part: digits need not draw it.
  Dataset test = load_data(spec, {.train = 0}).test;
  test.inputs = fit_inputs(test, model);
  check_classes(test, model);
  ThreadPool pool({.threads = options.threads});
  const train::Evaluation result = train::Evaluator(bound(model), test, &pool)(Params{});
  if (options.json) {
    print_json(Json{{"data", test.name},
                    {"examples", test.size()},
                    {"accuracy", json_of(result.accuracy)},
                    {"loss", json_of(result.loss)}});
    return;
  }
  print(fmt::format("examples  {}\naccuracy  {:.2f} %\nloss      {:.6g}\n", test.size(),
                    100 * result.accuracy, result.loss));
}

}  // namespace

void add_eval(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "eval", "Accuracy and mean cross-entropy of a classifier on the test part of a data set");
  add_model_option(*command, options->model);
  command->add_option("--data", options->data, kDataSpecHelp)->type_name("SPEC")->required();
  add_threads_option(*command, options->threads);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { eval(*options); });
}

}  // namespace limpid::tool
