// limpid show: the Function of a model as text.
#include <memory>
#include <string>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "limpid/function/text.h"

namespace limpid::tool {
namespace {

struct ShowArguments {
  ModelOptions model;
  bool full = false;
  bool json = false;
};

void show(const ShowArguments& options) {
  constexpr std::int64_t kShownElements = 8;
  const Model model = open_model(options.model);
  const Function& f = model.function;
  const std::string text = options.full ? to_text(f) : to_text(f, {.max_elements = kShownElements});
  if (!options.json) return print(text);
  std::vector<Input> outputs;
  for (const Output& o : f.outputs()) outputs.push_back({o.name, f.type(o.value)});
  print_json(Json{{"name", f.name()},
                  {"inputs", json_of(f.inputs())},
                  {"outputs", json_of(outputs)},
                  {"ops", f.nodes().size()},
                  {"text", text}});
}

}  // namespace

void add_show(Command& app) {
  auto options = std::make_shared<ShowArguments>();
  Command command = app.command("show", "Print a model's Function as text");
  add_model_option(command, options->model);
  command.flag("--full", options->full, "Print every element of large constants");
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { show(*options); });
}

}  // namespace limpid::tool
