// limpid hash: one number for everything that a model answers, so that two people can compare.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/data_spec.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/function/text.h"
#include "limpid/inspect/promise.h"

namespace limpid::tool {
namespace {

struct Options {
  ModelOptions model;
  std::string data;
  int threads = 1;
  bool json = false;
};

void hash_outputs(const Options& options) {
  const DataSpec spec = parse_data_option(options.data);
  const Model model = open_model(options.model);
  const Dataset test = load_examples(spec, model, Targets::kIfPresent);
  const Tensor inputs = fit_inputs(test, model);
  ThreadPool pool({.threads = options.threads});
  const Tensor outputs = predict(model, inputs, &pool);
  const std::string text = to_text(model.function);
  std::uint64_t of_model = limpid::hash(std::as_bytes(std::span(text)));
  for (const auto& [name, value] : model.params) {
    const std::uint64_t next = hash_of_numbers(value);
    of_model = limpid::hash(std::as_bytes(std::span(&next, 1)), of_model);
  }
  const auto hex = [](std::uint64_t h) { return fmt::format("{:016x}", h); };
  if (options.json) {
    print_json(Json{{"model", hex(of_model)},
                    {"data", hex(hash_of_numbers(inputs))},
                    {"outputs", hex(hash_of_numbers(outputs))},
                    {"examples", test.size()}});
    return;
  }
  print(fmt::format("model    {}\ndata     {}  ({}, {} examples)\noutputs  {}\n", hex(of_model),
                    hex(hash_of_numbers(inputs)), test.name, test.size(),
                    hex(hash_of_numbers(outputs))));
}

}  // namespace

void add_hash(Command& app) {
  auto options = std::make_shared<Options>();
  Command command = app.command("hash",
                                "Print hashes of a model, of a data set's test inputs and of the "
                                "model's outputs, to compare results bit for bit");
  add_model_option(command, options->model);
  command.option("--data", options->data, data_spec_help()).type("SPEC").required();
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { hash_outputs(*options); });
}

}  // namespace limpid::tool
