// limpid eval: how good a model is on the test part of a data set.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/data_spec.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/output.h"
#include "apps/limpid/scores.h"
#include "apps/limpid/threads.h"
#include "limpid/ops/constant.h"
#include "limpid/train/evaluator.h"

namespace limpid::tool {
namespace {

struct Options {
  std::string model;
  std::string data;
  int threads = 1;
  bool json = false;
};

Json json_of(const Dataset& test, const train::TestResult& result) {
  Json json{{"data", test.name}, {"examples", test.size()}};
  json.update(scores_json(result));
  return json;
}

// What the model was trained to make small, or what its task usually has.
train::Loss loss_of(const Model& model, Task task) {
  const std::optional<train::Loss> loss = train::loss_config_of(model);
  return loss && train::fits(loss->kind, task) ? *loss : train::usual_loss(task);
}

void eval(const Options& options) {
  const DataSpec spec = parse_data_spec(options.data);
  const Model model = load_model(options.model);
  Dataset test = load_examples(spec, model);
  test.inputs = fit_inputs(test, model);
  check_outputs(test, model);
  ThreadPool pool({.threads = options.threads});
  // Bound parameters are no inputs: what the loss asks of them is written beside the output.
  const train::Losses losses = [&, in_scale = train::losses_in_scale(loss_of(model, test.task))](
                                   const Args&, const Value& output, const Value& target) {
    Args values;
    for (const auto& [name, tensor] : model.params)
      if (name.starts_with("standardize.")) values.set(name, constant(output.builder(), tensor));
    return in_scale(values, output, target);
  };
  const train::TestResult result = train::Evaluator(bound(model), losses, test, &pool)(Params{});
  if (options.json)
    print_json(json_of(test, result));
  else
    print(fmt::format("examples  {}\n\n{}", test.size(), scores_text(test, result)));
}

}  // namespace

void add_eval(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("eval", "Loss and metrics of a model on the test part of a data set");
  add_model_option(*command, options->model);
  command->add_option("--data", options->data, kDataSpecHelp)->type_name("SPEC")->required();
  add_threads_option(*command, options->threads);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { eval(*options); });
}

}  // namespace limpid::tool
