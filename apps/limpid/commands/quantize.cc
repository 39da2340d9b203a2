// limpid quantize: a model with narrower weights, and its size, speed and accuracy.
#include "limpid/transforms/quantize.h"
#include "limpid/core/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/data_spec.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/output_file.h"
#include "apps/limpid/support/scores.h"
#include "apps/limpid/support/threads.h"
#include "limpid/compile/executable.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/file.h"
#include "limpid/inspect/op_example.h"
#include "limpid/inspect/summary.h"
#include "limpid/inspect/table.h"
#include "limpid/models/generate.h"
#include "limpid/models/prompt.h"
#include "limpid/nn/language_model.h"
#include "limpid/transforms/vmap.h"

namespace limpid::tool {
namespace {

constexpr std::int64_t kBatches[] = {1, 256};
// Batches whose call would take longer than this are left out.
constexpr double kMostMicroseconds = 2e6;

struct QuantizeArguments {
  ModelOptions model;
  std::string to;
  std::string out;
  std::string data;
  std::vector<std::string> exclude;
  int threads = 1;
  bool json = false;
};

// The measurements of a model.
struct Figures {
  std::int64_t parameter_bytes = 0;
  std::vector<double> microseconds;       // median time of a call, for each of kBatches
  std::optional<double> tokens_a_second;  // of a transformer that generates one text
  train::Numbers scores;                  // on the data, if given
};

// Median over the calls of a fifth of a second, after a warm-up of the same length.
double median_microseconds(const Function& function, ThreadPool& pool) {
  using Clock = std::chrono::steady_clock;
  const Executable executable = compile(function);
  Workspace workspace(executable, &pool);
  const std::vector<Tensor> inputs = random_inputs(function, Key(0), -1, 1);
  std::vector<const void*> in;
  for (const Tensor& t : inputs) in.push_back(t.bytes().data());
  std::vector<double> times;
  generate_together(executable.output_types(), [&](std::span<void* const> out) {
    for (const bool counted : {false, true}) {
      const Clock::time_point end = Clock::now() + std::chrono::milliseconds(100);
      for (Clock::time_point start = Clock::now(); start < end;) {
        workspace.run(in, out);
        const Clock::time_point stop = Clock::now();
        if (counted)
          times.push_back(std::chrono::duration<double, std::micro>(stop - start).count());
        start = stop;
      }
    }
  });
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::optional<double> tokens_a_second(const Model& model, ThreadPool& pool) {
  constexpr std::int64_t kMostTokens = 64;
  const std::optional<nn::Gpt> net = gpt_of(model);
  if (net ? net->context < 2 : !recurrent_lm_of(model)) return std::nullopt;
  const std::int64_t tokens = net ? std::min(kMostTokens, net->context) : kMostTokens;
  nn::LanguageModel language_model = language_model_of(model, {.capacity = tokens, .pool = &pool});
  nn::LanguageModel::Sequence sequence = language_model.join({});
  double most = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    sequence.truncate(0);
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < tokens; ++i) {
      sequence.append(0);
      language_model.step();
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    most = std::max(most, static_cast<double>(tokens) / time.count());
  }
  return most;
}

Figures figures_of(const Model& model, const Dataset* test, ThreadPool& pool) {
  Figures figures;
  figures.parameter_bytes = summarize(model.function, model.params).parameter_bytes;
  const Function f = bound(model);
  for (const std::int64_t batch : kBatches) {
    const double expected =
        figures.microseconds.empty() ? 0 : static_cast<double>(batch) * figures.microseconds[0];
    if (expected > kMostMicroseconds) break;
    const std::vector<std::optional<std::int64_t>> first(f.inputs().size(), 0);
    figures.microseconds.push_back(median_microseconds(vmap(f, first, batch), pool));
  }
  figures.tokens_a_second = tokens_a_second(model, pool);
  if (test) figures.scores = scores_of(model, *test, pool).metrics;
  return figures;
}

Json figures_json(const Figures& f) {
  Json times = Json::object();
  for (std::size_t i = 0; i < f.microseconds.size(); ++i)
    times[std::to_string(kBatches[i])] = json_of(f.microseconds[i]);
  Json json{{"parameter_bytes", f.parameter_bytes}, {"microseconds", times}};
  if (f.tokens_a_second) json["tokens_a_second"] = json_of(*f.tokens_a_second);
  for (const auto& [name, value] : f.scores) json[name] = json_of(value);
  return json;
}

std::string table_of(const Figures& before, const Figures& after, const std::string& to) {
  Table table{{{""}, {"before", Align::kRight}, {to, Align::kRight}}, {}};
  const auto add = [&](std::string what, const auto& text) {
    table.rows.push_back({std::move(what), text(before), text(after)});
  };
  add("parameter bytes", [](const Figures& f) { return grouped(f.parameter_bytes); });
  for (std::size_t i = 0; i < std::min(before.microseconds.size(), after.microseconds.size()); ++i)
    add(fmt::format("microseconds a call at a batch of {}", kBatches[i]),
        [&](const Figures& f) { return fmt::format("{:.2f}", f.microseconds[i]); });
  if (before.tokens_a_second)
    add("tokens a second of one text",
        [](const Figures& f) { return fmt::format("{:.1f}", *f.tokens_a_second); });
  for (const auto& [name, value] : before.scores)
    table.rows.push_back({name, score_text(name, value), score_text(name, after.scores.at(name))});
  return to_text(table);
}

void check_names(const QuantizeArguments& options, const Model& model) {
  for (const std::string& name : options.exclude)
    if (!model.params.find(name))
      throw UsageError(fmt::format("--exclude: the model has no parameter {}", in_quotes(name)));
}

void quantize_model(const QuantizeArguments& options) {
  const bool to_output = !options.out.empty() && is_standard_output(options.out);
  if (options.json && to_output) throw UsageError("--json: standard output is used for the model");
  std::optional<DataSpec> spec;
  if (!options.data.empty()) spec = parse_data_option(options.data);
  std::vector<std::filesystem::path> inputs =
      spec ? files_of(*spec) : std::vector<std::filesystem::path>();
  inputs.emplace_back(options.model.path);
  if (!options.out.empty()) refuse_input_as_output("--out", options.out, inputs);
  const Model model = open_model(options.model);
  check_names(options, model);
  std::optional<HeldOut> test;
  if (spec) test = load_test_part(*spec, model);
  const Dtype to = options.to == "bf16" ? Dtype::kBf16 : Dtype::kI8;
  Quantized quantized =
      quantize(model.function, model.params, {.to = to, .exclude = options.exclude});
  const Model result{std::move(quantized.function), std::move(quantized.params), model.config};
  ThreadPool pool({.threads = options.threads});
  const Dataset* const examples = test ? &test->examples : nullptr;
  const Figures before = figures_of(model, examples, pool);
  const Figures after = figures_of(result, examples, pool);
  if (!options.out.empty()) save_model(options.out, result);
  if (options.json) {
    Json json{{"to", options.to},
              {"out", options.out},
              {"threads", options.threads},
              {"done", quantized.done},
              {"before", figures_json(before)},
              {"after", figures_json(after)}};
    if (test) add_examples(json, *test);
    print_json(json);
    return;
  }
  if (to_output) return;
  for (const std::string& line : quantized.done) print(printable(line) + "\n");
  if (quantized.done.empty()) print("No parameter is used by matrix products only.\n");
  print(fmt::format("\nthreads   {}\n", options.threads));
  if (test) print(examples_text(*test));
  print("\n" + table_of(before, after, options.to));
  if (!options.out.empty()) print(fmt::format("\nsaved {}\n", printable(options.out)));
}

}  // namespace

void add_quantize(Command& app) {
  auto options = std::make_shared<QuantizeArguments>();
  Command command = app.command("quantize",
                                "Convert weights to bf16 or int8 and compare size and speed; with "
                                "--data, loss and metrics too");
  add_model_option(command, options->model);
  command
      .choice("--to", options->to, {"bf16", "int8"},
              "Type of the weights of matrix products in the new model")
      .required();
  command.option("--out", options->out, "File for the new model; default: not saved").path("FILE");
  command.option("--data", options->data, data_spec_help()).type("SPEC");
  command.option("--exclude", options->exclude, "Parameter that keeps its type, once for each")
      .type("NAME");
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { quantize_model(*options); });
}

}  // namespace limpid::tool
