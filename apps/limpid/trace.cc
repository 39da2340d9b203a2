// limpid trace: one example on its way through a model, and the arithmetic of a neuron.
#include "limpid/inspect/trace.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string>

#include "apps/limpid/answers.h"
#include "apps/limpid/column_names.h"
#include "apps/limpid/command.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/named_inputs.h"
#include "apps/limpid/output.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/inspect/neuron.h"

namespace limpid::tool {
namespace {

struct TraceArguments {
  ModelOptions model;
  ExampleOptions examples;
  std::optional<std::string> neuron;
  bool json = false;
  std::vector<std::string> inputs;  // "NAME=FILE.npy"
};

struct NeuronSpec {
  std::string layer;
  std::int64_t index = 0;
};

// "layers.1:5"; the layer's name may have colons of its own.
NeuronSpec parse_neuron_spec(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  NeuronSpec spec;
  const char* const last = text.data() + text.size();
  if (colon != std::string::npos && colon > 0) {
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, spec.index);
    spec.layer = text.substr(0, colon);
    if (error == std::errc{} && end == last) return spec;
  }
  throw UsageError(
      fmt::format("--neuron {}: expected LAYER:INDEX, as in layers.1:5", in_quotes(text)));
}

// A layer or a neuron that does not exist is a fault of the command line.
Neuron find_neuron(const Observation& run, const NeuronSpec& spec) {
  try {
    return explain_neuron(run, spec.layer, spec.index);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kNotFound && e.code() != ErrorCode::kInvalidArgument) throw;
    throw UsageError(fmt::format("--neuron: {}", e.what()));
  }
}

Json json_of(const TraceRow& row) {
  const Statistics& s = row.statistics;
  return {{"value", row.value},
          {"layer", row.layer},
          {"op", row.op},
          {"dtype", name(row.type.dtype)},
          {"shape", tool::json_of(row.type.shape)},
          {"min", tool::json_of(s.min)},
          {"mean", tool::json_of(s.mean)},
          {"std", tool::json_of(s.std)},
          {"max", tool::json_of(s.max)},
          {"zero_share", s.zero_share},
          {"nans", s.nans},
          {"infs", s.infs}};
}

Json json_of(const Neuron& n) {
  const auto number = [&](double v) { return tool::json_of(v, n.dtype); };
  Json terms = Json::array();
  for (const Neuron::Term& t : n.terms)
    terms.push_back({{"index", t.index}, {"weight", number(t.weight)}, {"input", number(t.input)}});
  Json document{{"layer", n.layer}, {"index", n.index}, {"row", n.row}, {"terms", terms}};
  if (n.bias) document["bias"] = number(*n.bias);
  document["z"] = number(n.z);
  if (!n.activation.empty())
    document["activation"] = {{"op", n.activation}, {"value", number(n.activated)}};
  return document;
}

void print_document(const std::vector<TraceRow>& rows, const std::optional<Neuron>& neuron) {
  Json list = Json::array();
  for (const TraceRow& row : rows) list.push_back(json_of(row));
  Json document{{"ops", list}};
  if (neuron) document["neuron"] = json_of(*neuron);
  print_json(document);
}

// `names`: one for each number of the example, or none.
void print_text(const Examples& examples, const std::vector<std::string>& names,
                const std::vector<TraceRow>& rows, const std::optional<Neuron>& neuron) {
  if (examples.data) {
    print(picture_of(*examples.data, 0));
    const std::string target = target_text(*examples.data, 0);
    print(fmt::format("example {}{}{}\n", examples.first, target.empty() ? "" : ": ", target));
  }
  if (!names.empty())
    print(fmt::format("{}\n", named_numbers(names, examples.inputs.values<float>())));
  print(to_text(rows));
  if (neuron) print("\n" + to_text(*neuron));
}

// Inputs by name, each of one example.
void trace_named(const TraceArguments& options, const std::optional<NeuronSpec>& spec) {
  const NamedRun named = open_named(options.model, options.inputs);
  Params inputs = named.model.params;
  for (const auto& [name, tensor] : named.inputs) inputs.set(name, tensor);
  const Observation run = observe(named.model.function, inputs);
  const std::vector<TraceRow> rows = trace_rows(run, named.model.params);
  std::optional<Neuron> neuron;
  if (spec) neuron = find_neuron(run, *spec);
  if (options.json)
    print_document(rows, neuron);
  else
    print_text({}, {}, rows, neuron);
}

void trace_example(const TraceArguments& options) {
  std::optional<NeuronSpec> spec;
  if (options.neuron) spec = parse_neuron_spec(*options.neuron);
  if (!options.inputs.empty()) return trace_named(options, spec);
  const Model model = with_prompt(open_model(options.model), options.examples);
  const Examples examples = read_examples(options.examples, model);
  const Input& input = data_input(model);
  Params inputs = model.params;
  inputs.set(input.name, examples.inputs.reshape(input.type.shape));
  const Observation run = observe(model.function, inputs);
  const std::vector<TraceRow> rows = trace_rows(run, model.params);
  std::optional<Neuron> neuron;
  if (spec) neuron = find_neuron(run, *spec);
  if (options.json)
    print_document(rows, neuron);
  else
    print_text(examples, feature_names(model), rows, neuron);
}

}  // namespace

void add_trace(Command& app) {
  auto options = std::make_shared<TraceArguments>();
  Command command = app.command("trace",
                                "Run one example op by op and print statistics of every value; "
                                "--neuron shows a neuron's arithmetic");
  add_model_option(command, options->model);
  add_example_options(command, options->examples);
  add_input_option(command, options->inputs)
      .excludes(command.at("--data"))
      .excludes(command.at("--values"))
      .excludes(command.at("--prompt"));
  command.option("--neuron", options->neuron, "Neuron whose arithmetic to print, term by term")
      .type("LAYER:INDEX");
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { trace_example(*options); });
}

}  // namespace limpid::tool
