// limpid emit: a model as one C++ header.
#include "limpid/emit/emit.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "apps/limpid/support/column_names.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/output_file.h"
#include "limpid/core/error.h"
#include "limpid/formats/file.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

struct EmitArguments {
  ModelOptions model;
  std::string cpp;
  std::string namespace_name;
  bool json = false;
};

std::string header_of(const Model& model, const std::string& name) {
  EmitOptions options{.namespace_name = name};
  if (const auto names = feature_names(model); !names.empty())
    options.element_names[data_input(model).name] = names;
  if (const auto names = output_names(model); !names.empty())
    options.element_names[model.function.outputs().front().name] = names;
  try {
    return emit_cpp(model.function, model.params, options);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kInvalidArgument) throw;
    throw UsageError(fmt::format("{}; --namespace gives another", e.what()));
  }
}

void emit_model(const EmitArguments& options) {
  if (options.json && is_standard_output(options.cpp))
    throw UsageError("--json: standard output is used for the header");
  refuse_input_as_output("--cpp", options.cpp, {options.model.path});
  const Model model = open_model(options.model);
  const std::string name = options.namespace_name.empty()
                               ? std::filesystem::path(options.cpp).stem().string()
                               : options.namespace_name;
  const std::string header = header_of(model, name);
  const std::span<const std::byte> part = std::as_bytes(std::span(header));
  write_file_atomically(options.cpp, {&part, 1});
  if (options.json)
    return print_json(Json{{"header", options.cpp}, {"namespace", name}, {"bytes", header.size()}});
  if (!is_standard_output(options.cpp))
    print(fmt::format("{}: {}::run(), {} bytes of C++17\n", printable(options.cpp), name,
                      header.size()));
}

}  // namespace

void add_emit(Command& app) {
  auto options = std::make_shared<EmitArguments>();
  Command command = app.command(
      "emit", "Write a model as one self-contained C++ header that computes the same bits");
  add_model_option(command, options->model);
  command.option("--cpp", options->cpp, "Header file to write").path("FILE").required();
  command
      .option("--namespace", options->namespace_name,
              "Namespace of the code; default: the name of the file")
      .type("NAME");
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { emit_model(*options); });
}

}  // namespace limpid::tool
