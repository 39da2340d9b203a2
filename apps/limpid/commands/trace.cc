// limpid trace: the values of a model for one example, and the arithmetic of a neuron.
#include "limpid/inspect/trace.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
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
#include "apps/limpid/support/output_file.h"
#include "limpid/core/error.h"
#include "limpid/core/number_text.h"
#include "limpid/formats/file.h"
#include "limpid/inspect/maps.h"
#include "limpid/inspect/neuron.h"
#include "limpid/inspect/table.h"
#include "limpid/transforms/edit.h"

namespace limpid::tool {
namespace {

struct TraceArguments {
  ModelOptions model;
  ExampleOptions examples;
  std::optional<std::string> neuron;
  bool json = false;
  std::string maps, kernels, attribution;  // PNG files
  std::optional<std::int64_t> output;
  std::vector<std::string> inputs;  // "NAME=FILE.npy"
  std::vector<std::string> edits;   // "%1[5] = 0"
};

NeuronPlace place_of(const std::string& text) {
  try {
    return parse_neuron_place(text);
  } catch (const Error& e) {
    throw UsageError(fmt::format("--{}", e.what()));
  }
}

// A layer or neuron that does not exist is a usage error.
Neuron find_neuron(const Observation& run, const NeuronPlace& spec) {
  try {
    return explain_neuron(run, spec.layer, spec.index);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kNotFound && e.code() != ErrorCode::kInvalidArgument) throw;
    throw UsageError(fmt::format("--neuron: {}", e.what()));
  }
}

// Runs the model with the edits of the command line. Values have the names that they have in the
// model's own Function.
Observation observe_edited(const TraceArguments& options, const Function& function,
                           const Params& inputs) {
  if (options.edits.empty()) return observe(function, inputs);
  const Edited edited = [&] {
    try {
      std::vector<Edit> edits;
      for (const std::string& text : options.edits) edits.push_back(parse_edit(text));
      return edit(function, edits);
    } catch (const Error& e) {
      throw UsageError(fmt::format("--edit: {}", e.what()));
    }
  }();
  const Observation all = observe(edited.function, inputs);
  Observation run{function, {}};
  for (const ValueId id : edited.values) run.values.push_back(all[id]);
  return run;
}

void print_document(const std::vector<TraceRow>& rows, const std::optional<Neuron>& neuron) {
  Json list = Json::array();
  for (const TraceRow& row : rows) list.push_back(to_json(row));
  Json document{{"ops", list}};
  if (neuron) document["neuron"] = to_json(*neuron);
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

void write_picture(const std::string& path, const std::vector<std::byte>& png) {
  const std::span<const std::byte> part(png);
  write_file_atomically(path, std::span(&part, 1));
}

// What the rows of a sheet show.
void write_maps(const std::string& path, const MapsSheet& sheet) {
  write_picture(path, sheet.png);
  Table table{{{"row", Align::kRight},
               {"value"},
               {"layer"},
               {"shape"},
               {"min", Align::kRight},
               {"max", Align::kRight},
               {"shown", Align::kRight}},
              {}};
  for (std::size_t i = 0; i < sheet.rows.size(); ++i) {
    const MapsSheet::Row& row = sheet.rows[i];
    table.rows.push_back({fmt::format("{}", i + 1), row.value, row.layer, tuple_text(row.shape),
                          short_number(row.low), short_number(row.high),
                          fmt::format("{}", row.shown)});
  }
  print(fmt::format("\n{}\n{}", printable(path), to_text(table)));
}

// The pictures that were asked for.
void write_pictures(const TraceArguments& options, const Model& model, const Observation& run,
                    const Tensor& example) {
  if (!options.maps.empty()) write_maps(options.maps, feature_maps(run, model.params));
  if (!options.kernels.empty()) write_maps(options.kernels, kernel_maps(model.params));
  if (options.attribution.empty()) return;
  const Attribution found = attribute(model, example, options.output);
  write_picture(options.attribution, attribution_sheet(found, example));
  print(fmt::format("\n{}\nthe picture, the saliency and the occlusion of output {}: {}\n",
                    printable(options.attribution), found.output, short_number(found.value)));
}

// Inputs by name, each of one example.
void trace_named(const TraceArguments& options, const std::optional<NeuronPlace>& spec) {
  const NamedRun named = open_named(options.model, options.inputs);
  Params inputs = named.model.params;
  for (const auto& [name, tensor] : named.inputs) inputs.set(name, tensor);
  const Observation run = observe_edited(options, named.model.function, inputs);
  const std::vector<TraceRow> rows = trace_rows(run, named.model.params);
  std::optional<Neuron> neuron;
  if (spec) neuron = find_neuron(run, *spec);
  if (options.json)
    print_document(rows, neuron);
  else
    print_text({}, {}, rows, neuron);
}

void trace_example(const TraceArguments& options) {
  std::optional<NeuronPlace> spec;
  if (options.neuron) spec = place_of(*options.neuron);
  for (const std::string& path : {options.maps, options.kernels, options.attribution})
    refuse_input_as_output("PNG", path, {options.model.path});
  if (!options.inputs.empty()) return trace_named(options, spec);
  const Model model = with_prompt(open_model(options.model), options.examples);
  const Examples examples = read_examples(options.examples, model);
  const Input& input = data_input(model);
  Params inputs = model.params;
  inputs.set(input.name, examples.inputs.reshape(input.type.shape));
  const Observation run = observe_edited(options, model.function, inputs);
  const std::vector<TraceRow> rows = trace_rows(run, model.params);
  std::optional<Neuron> neuron;
  if (spec) neuron = find_neuron(run, *spec);
  if (options.json)
    print_document(rows, neuron);
  else
    print_text(examples, feature_names(model), rows, neuron);
  write_pictures(options, model, run, inputs.at(input.name));
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
      .excludes(command.at("--picture"))
      .excludes(command.at("--prompt"));
  command.option("--neuron", options->neuron, "Neuron whose arithmetic to print, term by term")
      .type("LAYER:INDEX");
  command
      .option("--edit", options->edits,
              "Change of a value on the way, once for each: \"%1[5] = 0\", \"%1 *= 2\", "
              "\"%x += 0.5\" or \"%1 += noise(STD, SEED)\"")
      .type("EDIT");
  const Option maps =
      command.option("--maps", options->maps, "PNG with the feature maps of each layer")
          .path("FILE.png")
          .excludes(command.at("--input"));
  const Option kernels =
      command.option("--kernels", options->kernels, "PNG with the kernels of each convolution")
          .path("FILE.png")
          .excludes(command.at("--input"));
  const Option attribution =
      command
          .option("--attribution", options->attribution,
                  "PNG with the picture, its saliency and its occlusion: the pixels that an output "
                  "depends on")
          .path("FILE.png")
          .excludes(command.at("--input"));
  command.option("--output", options->output, "Output of --attribution; default: the largest")
      .needs(attribution);
  command.flag("--json", options->json, "Print JSON")
      .excludes(maps)
      .excludes(kernels)
      .excludes(attribution);
  command.run([options] { trace_example(*options); });
}

}  // namespace limpid::tool
