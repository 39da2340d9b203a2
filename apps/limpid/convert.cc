// limpid convert: a model from one format into another.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "limpid/formats/in_quotes.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

struct Options {
  ModelOptions model;
  std::string out;
};

void convert(const Options& options) {
  if (is_onnx(options.out) || !is_onnx(options.model.path))
    throw UsageError(fmt::format("{} to {}: MODEL.onnx to OUT.safetensors is expected",
                                 in_quotes(options.model.path), in_quotes(options.out)));
  const Model model = open_model(options.model);
  save_model(options.out, model);
  print(fmt::format("{}: {} tensors, input {}\n", printable(options.out), model.params.size(),
                    to_string(data_input(model).type)));
}

}  // namespace

void add_convert(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("convert", "An ONNX model as a safetensors file");
  add_model_option(*command, options->model);
  command->add_option("OUT", options->out, "The file to write")->required();
  command->callback([options] { convert(*options); });
}

}  // namespace limpid::tool
