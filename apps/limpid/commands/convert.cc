// limpid convert: a model from one format into another.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/output_file.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/file.h"
#include "limpid/formats/huggingface.h"
#include "limpid/inspect/table.h"
#include "limpid/models/adapter.h"
#include "limpid/models/pretrained.h"
#include "limpid/train/run/run_folder.h"

namespace limpid::tool {
namespace {

struct ConvertArguments {
  ModelOptions model;
  std::string out;
  std::string adapter;
  std::optional<std::int64_t> batch;
  bool json = false;
};

void convert(const ConvertArguments& options) {
  if (options.json && is_standard_output(options.out))
    throw UsageError("--json: standard output is used for the model");
  std::vector<std::filesystem::path> read{options.model.path};
  if (!options.adapter.empty()) read.emplace_back(options.adapter);
  refuse_input_as_output("OUT", options.out, read);
  const std::string& from = options.model.path;
  const bool from_folder = is_folder_path(from) && is_huggingface(from);
  if (options.adapter.empty() && is_onnx_path(options.out) == is_onnx_path(from) &&
      is_folder_path(options.out) == from_folder)
    throw UsageError(fmt::format(
        "{} to {}: expected two formats; NAME.onnx is ONNX, NAME/ a Hugging Face folder, any other "
        "name safetensors",
        in_quotes(from), in_quotes(options.out)));
  std::error_code ignored;
  if (is_folder_path(options.out) &&
      std::filesystem::exists(train::RunFolder(options.out).log(), ignored))
    throw UsageError(
        fmt::format("OUT: {} is the folder of a training run, whose files would be "
                    "overwritten; expected another folder",
                    in_quotes(options.out)));
  if (options.batch && !is_onnx_path(options.out))
    throw UsageError(fmt::format("--batch: {} is not an ONNX model", in_quotes(options.out)));
  const Model opened = open_model(options.model);
  const Model model =
      options.adapter.empty() ? opened : merge_adapter(opened, load_adapter(options.adapter));
  write_model(options.out, model, options.batch);
  std::vector<std::string> lost =
      is_folder_path(options.out) ? lost_in_pretrained(model) : std::vector<std::string>();
  const std::string note =
      lost.empty() ? ""
                   : fmt::format("a Hugging Face folder cannot store {}", fmt::join(lost, ", "));
  // That the model is of one example only, where the file was of a batch, is lost as well.
  if (!model.note.empty()) lost.push_back(model.note);
  if (options.json)
    return print_json(Json{{"out", options.out},
                           {"tensors", model.params.size()},
                           {"inputs", json_of(data_inputs(model))},
                           {"lost", lost}});
  if (!note.empty()) print_note(fmt::format("{}: {}", in_quotes(options.out), note));
  if (is_standard_output(options.out)) return;
  std::vector<std::string> inputs;
  for (const Input& input : data_inputs(model)) inputs.push_back(to_string(input.type));
  print(fmt::format("{}: {} tensors, input{} {}\n", printable(options.out), model.params.size(),
                    inputs.size() == 1 ? "" : "s", fmt::join(inputs, ", ")));
}

}  // namespace

void add_convert(Command& app) {
  auto options = std::make_shared<ConvertArguments>();
  Command command = app.command(
      "convert",
      "Convert a model between safetensors, ONNX and a Hugging Face folder (GPT-2, Llama)");
  add_model_option(command, options->model);
  command.option("OUT", options->out, "File to write; NAME/: a Hugging Face folder")
      .path("PATH")
      .required();
  command
      .option("--batch", options->batch,
              "Batch size of an ONNX model; 0: none, as for a model of fixed shapes; default: any")
      .check(within(0, kMostExamples));
  command
      .option("--adapter", options->adapter,
              "Adapter to merge into the weights: a folder in PEFT's format (LoRA)")
      .path("DIR");
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { convert(*options); });
}

}  // namespace limpid::tool
