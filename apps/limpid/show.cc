// limpid show: the Function of a model as text.
#include <memory>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "limpid/function/text.h"

namespace limpid::tool {
namespace {

struct ShowArguments {
  ModelOptions model;
  bool full = false;
};

void show(const ShowArguments& options) {
  constexpr std::int64_t kShownElements = 8;
  const Model model = open_model(options.model);
  print(options.full ? to_text(model.function)
                     : to_text(model.function, {.max_elements = kShownElements}));
}

}  // namespace

void add_show(Command& app) {
  auto options = std::make_shared<ShowArguments>();
  Command command = app.command("show", "Print a model's Function as text");
  add_model_option(command, options->model);
  command.flag("--full", options->full, "Print every element of large constants");
  command.run([options] { show(*options); });
}

}  // namespace limpid::tool
