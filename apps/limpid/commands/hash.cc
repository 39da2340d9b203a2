// limpid hash: one hash of the outputs of a model, to compare between machines.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/data_spec.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/named_inputs.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/threads.h"
#include "limpid/core/number_text.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

struct HashArguments {
  ModelOptions model;
  std::string data;
  int threads = 1;
  bool json = false;
  std::vector<std::string> inputs;  // "NAME=FILE.npy"
};

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

// Inputs by name, and all outputs.
void hash_named(const HashArguments& options) {
  const NamedRun run = open_named(options.model, options.inputs);
  ThreadPool pool({.threads = options.threads});
  const std::uint64_t outputs = hash_of_numbers(predict(run.model, run.inputs, &pool));
  std::vector<Tensor> inputs;
  for (const Input& input : data_inputs(run.model)) inputs.push_back(run.inputs.at(input.name));
  if (options.json)
    return print_json(Json{{"model", hex(hash_of_model(run.model))},
                           {"data", hex(hash_of_numbers(inputs))},
                           {"outputs", hex(outputs)}});
  print(fmt::format("model    {}\ndata     {}  ({})\noutputs  {}\n", hex(hash_of_model(run.model)),
                    hex(hash_of_numbers(inputs)),
                    counted(static_cast<std::int64_t>(inputs.size()), "input"), hex(outputs)));
}

void hash_outputs(const HashArguments& options) {
  if (!options.inputs.empty()) return hash_named(options);
  if (options.data.empty()) throw UsageError("expected one of --data and --input");
  const DataSpec spec = parse_data_option(options.data);
  const Model model = open_model(options.model);
  const Dataset test = load_examples(spec, model, Targets::kIfPresent);
  const Tensor inputs = fit_inputs(test, model);
  ThreadPool pool({.threads = options.threads});
  const Tensor outputs = predict(model, inputs, &pool);
  const std::uint64_t of_model = hash_of_model(model);
  if (options.json) {
    print_json(Json{{"model", hex(of_model)},
                    {"data", hex(hash_of_numbers(inputs))},
                    {"outputs", hex(hash_of_numbers(outputs))},
                    {"examples", test.size()}});
    return;
  }
  print(fmt::format("model    {}\ndata     {}  ({}, {})\noutputs  {}\n", hex(of_model),
                    hex(hash_of_numbers(inputs)), printable(test.name),
                    counted(test.size(), "example"), hex(hash_of_numbers(outputs))));
}

}  // namespace

void add_hash(Command& app) {
  auto options = std::make_shared<HashArguments>();
  Command command = app.command("hash",
                                "Print hashes of a model, of a data set's test inputs and of the "
                                "model's outputs, to compare results bit for bit");
  add_model_option(command, options->model);
  command.option("--data", options->data, data_spec_help()).type("SPEC");
  add_input_option(command, options->inputs).excludes(command.at("--data"));
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { hash_outputs(*options); });
}

}  // namespace limpid::tool
