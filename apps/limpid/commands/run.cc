// limpid run: runs a model on examples.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/limpid/support/answers.h"
#include "apps/limpid/support/column_names.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/named_inputs.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/threads.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/formats/file.h"
#include "limpid/formats/npy.h"
#include "limpid/inspect/table.h"
#include "limpid/models/prompt.h"

namespace limpid::tool {
namespace {

struct RunArguments {
  ModelOptions model;
  ExampleOptions examples;
  int threads = 1;
  bool json = false;
  std::string out;
  std::vector<std::string> inputs;  // "NAME=FILE.npy"
};

// The output's name, or "output".
std::string output_name(const Model& model) {
  const std::string& name = model.function.outputs().front().name;
  return name.empty() ? "output" : name;
}

void print_output(const Model& model, const Tensor& output, bool json) {
  std::vector<std::string> names;
  if (output.dtype() == Dtype::kF32) names = output_names(model);
  if (json) {
    Json document{{output_name(model), elements_json(output)}};
    if (!names.empty()) document["names"] = names;
    print_json(document);
    return;
  }
  if (!names.empty()) {
    print(fmt::format("{}: {}\n", printable(output_name(model)),
                      named_numbers(names, output.values<float>())));
    return;
  }
  const auto all = static_cast<std::size_t>(output.elements());
  print(fmt::format("{} = {}\n", printable(output_name(model)), elements_text(output, all)));
}

// A field of CSV (RFC 4180).
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// A header line, then a line for each example. Numbers read back as the same bits.
std::string csv_text(const Model& model, const Tensor& output) {
  const std::int64_t rows = output.shape()[0];
  const std::int64_t columns = output.shape().elements() / std::max<std::int64_t>(rows, 1);
  std::vector<std::string> names = output_names(model);
  if (names.empty() && columns == 1) names = {output_name(model)};
  for (std::int64_t c = 0; static_cast<std::int64_t>(names.size()) < columns; ++c)
    names.push_back(fmt::format("{}.{}", output_name(model), c));
  for (std::string& name : names) name = csv_field(name);
  std::string text = fmt::format("{}\n", fmt::join(names, ","));
  const std::span<const float> numbers = output.values<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += exact_number(static_cast<double>(numbers[i]), Dtype::kF32);
    text += (i + 1) % static_cast<std::size_t>(columns) == 0 ? '\n' : ',';
  }
  return text;
}

// The raw outputs: [N, ...] for N examples.
void save_output(const Model& model, const Tensor& output, const std::filesystem::path& path) {
  if (path.extension() == ".npz") {
    save_npz(path, {{output_name(model), output}});
  } else if (path.extension() == ".csv") {
    if (output.dtype() != Dtype::kF32)
      throw UsageError(fmt::format("--out: expected a .npy or .npz file for {}, got {}",
                                   to_string(output.type()), in_quotes(path.string())));
    const std::string text = csv_text(model, output);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    write_file_atomically(path, {&bytes, 1});
  } else
    save_npy(path, output);
}

void say_written(const std::string& what, const std::string& path) {
  if (!is_standard_output(path)) print(fmt::format("wrote {} to {}\n", what, printable(path)));
}

// Inputs by name, and all outputs.
void run_named(const RunArguments& options) {
  const NamedRun run = open_named(options.model, options.inputs);
  ThreadPool pool({.threads = options.threads});
  const std::vector<Tensor> outputs = predict(run.model, run.inputs, &pool);
  if (options.out.empty()) return print_outputs(run.model, outputs, options.json);
  save_outputs(run.model, outputs, options.out);
  say_written(counted(static_cast<std::int64_t>(outputs.size()), "output"), options.out);
}

void run(const RunArguments& options) {
  if (!options.inputs.empty()) return run_named(options);
  const Model model = with_prompt(open_model(options.model), options.examples);
  const Examples examples = read_examples(options.examples, model);
  if (examples.data && options.out.empty()) check_outputs(*examples.data, model);
  ThreadPool pool({.threads = options.threads});
  const Tensor output = predict(model, examples.inputs, &pool);
  if (!options.out.empty()) {
    save_output(model, output, options.out);
    say_written(to_string(output.type()), options.out);
    return;
  }
  if (options.examples.prompt) {
    const Tokenizer tokenizer = tokenizer_of(model);
    options.json ? print_json(next_tokens_json(tokenizer, output))
                 : print_next_tokens(tokenizer, output);
    return;
  }
  if (!examples.data) {
    print_output(model, output, options.json);
    return;
  }
  if (options.json)
    print_json(answers_json(examples, output));
  else
    print_answers(examples, output);
}

const Check kIsArrayFile{[](const std::string& path) {
                           const auto extension = std::filesystem::path(path).extension();
                           return extension == ".npy" || extension == ".npz" || extension == ".csv";
                         },
                         "a .npy, .npz or .csv file"};

}  // namespace

void add_run(Command& app) {
  auto options = std::make_shared<RunArguments>();
  Command command = app.command(
      "run", "Run a model on examples and print its predictions, or write its outputs to a file");
  add_model_option(command, options->model);
  add_example_options(command, options->examples);
  options->examples.count.reset();
  command
      .option("--count", options->examples.count,
              "Number of examples of --data; default: 1; of a table, or with --out: all")
      .needs(command.at("--data"))
      .check(within(1, kMostExamples));
  add_input_option(command, options->inputs)
      .excludes(command.at("--data"))
      .excludes(command.at("--values"))
      .excludes(command.at("--prompt"));
  add_threads_option(command, options->threads);
  const Option json = command.flag("--json", options->json, "Print JSON");
  command
      .option("--out", options->out,
              "Write the outputs, [N, ...] for N examples, to a .npy, .npz or .csv file instead")
      .excludes(json)
      .path("FILE")
      .check(kIsArrayFile);
  command.run([options] {
    options->examples.all_data = !options->out.empty();
    run(*options);
  });
}

}  // namespace limpid::tool
