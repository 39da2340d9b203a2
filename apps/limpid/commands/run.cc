// limpid run: runs a model on examples.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/limpid/support/answers.h"
#include "apps/limpid/support/column_names.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/data_spec.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/named_inputs.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/output_file.h"
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

// A header line, then a line for each example. Numbers read back as the same bits.
std::string csv_text(const Model& model, const Tensor& output) {
  const std::int64_t rows = output.shape()[0];
  const std::int64_t columns = output.shape().elements() / std::max<std::int64_t>(rows, 1);
  std::vector<std::string> names;
  if (columns == 1) names = {output_name(model)};
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

// With a row of NaN for each row of a table that is no example.
Tensor with_rows_left_out(const Examples& examples, const Tensor& output) {
  const auto& table = examples.data ? examples.data->rows_of_table : std::nullopt;
  if (!table || table->left_out.empty() || output.dtype() != Dtype::kF32) return output;
  const std::vector<ExampleLine> lines = lines_of(examples);
  const auto rows = static_cast<std::int64_t>(lines.size());
  return Tensor::generate<float>(output.shape().replace(0, rows), [&](std::span<float> out) {
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
    const std::size_t width = out.size() / lines.size();
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (lines[i].example) {
        const Tensor row = output.rows(*lines[i].example, 1);
        const auto numbers = row.values<float>();
        std::copy(numbers.begin(), numbers.end(),
                  out.begin() + static_cast<std::ptrdiff_t>(i * width));
      }
  });
}

// The outputs, [N, ...] for N examples; as CSV, the answers.
void save_output(const Model& model, const Examples& examples, const Tensor& output,
                 const std::filesystem::path& path) {
  if (path.extension() == ".npz") {
    save_npz(path, {{output_name(model), with_rows_left_out(examples, output)}});
  } else if (path.extension() == ".csv") {
    if (output.dtype() != Dtype::kF32)
      throw UsageError(fmt::format("--out: expected a .npy or .npz file for {}, got {}",
                                   to_string(output.type()), in_quotes(path.string())));
    const bool answers = examples.data && examples.data->task != Task::kNextToken;
    const std::string text = answers ? answers_csv(examples, output) : csv_text(model, output);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    write_file_atomically(path, {&bytes, 1});
  } else
    save_npy(path, with_rows_left_out(examples, output));
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

std::vector<std::filesystem::path> files_read_by(const RunArguments& options) {
  std::vector<std::filesystem::path> files{options.model.path};
  for (const std::string& input : options.inputs)
    files.emplace_back(input.substr(std::min(input.size(), input.find('=') + 1)));
  if (!options.examples.picture.empty()) files.emplace_back(options.examples.picture);
  if (!options.examples.data.empty())
    for (const auto& file : files_of(parse_data_option(options.examples.data)))
      files.push_back(file);
  return files;
}

void run(const RunArguments& options) {
  if (!options.out.empty()) refuse_input_as_output("--out", options.out, files_read_by(options));
  if (!options.inputs.empty()) return run_named(options);
  const Model model = with_prompt(open_model(options.model), options.examples);
  const Examples examples = read_examples(options.examples, model);
  const bool raw = std::filesystem::path(options.out).extension() != ".csv";
  if (examples.data && (options.out.empty() || !raw)) check_outputs(*examples.data, model);
  if (examples.data) print_notes(*examples.data);
  ThreadPool pool({.threads = options.threads});
  const Tensor output = predict(model, examples.inputs, &pool);
  if (!options.out.empty()) {
    save_output(model, examples, output, options.out);
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
      .excludes(command.at("--picture"))
      .excludes(command.at("--prompt"));
  add_threads_option(command, options->threads);
  const Option json = command.flag("--json", options->json, "Print JSON");
  command
      .option("--out", options->out,
              "Write to a file instead: the outputs, [N, ...] for N examples, to .npy or .npz; "
              "rows, predictions and probabilities to .csv")
      .excludes(json)
      .path("FILE")
      .check(kIsArrayFile);
  command.run([options] {
    options->examples.all_data = !options->out.empty();
    run(*options);
  });
}

}  // namespace limpid::tool
