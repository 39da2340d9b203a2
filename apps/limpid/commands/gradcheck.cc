// limpid gradcheck: a model's gradient against central differences.
#include "limpid/inspect/gradcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "limpid/core/error.h"
#include "limpid/nn/init.h"

namespace limpid::tool {
namespace {

struct GradcheckArguments {
  ModelOptions model;
  GradcheckOptions check;
  std::uint64_t seed = 0;
  bool json = false;
};

// An example drawn from a normal distribution; whole numbers are 0.
Tensor drawn_example(const Type& type, Key key) {
  return is_floating(type.dtype) ? nn::normal(1)(key, type.shape) : Tensor::zeros(type);
}

Json row_json(const GradcheckRow& r) {
  return {{"input", r.name},
          {"shape", json_of(r.type.shape)},
          {"checked", r.checked},
          {"absolute_error", json_of(r.absolute_error)},
          {"relative_error", json_of(r.relative_error)},
          {"index", r.index},
          {"gradient", json_of(r.gradient)},
          {"difference", json_of(r.difference)},
          {"agrees", r.agrees}};
}

void gradcheck_model(const GradcheckArguments& options) {
  const Model model = open_model(options.model);
  const Key key(options.seed);
  Params inputs = model.params;
  inputs.set(data_input(model).name, drawn_example(data_input(model).type, key.fold_in(0)));
  const std::vector<GradcheckRow> rows =
      gradcheck(model.function, inputs, key.fold_in(1), options.check);
  if (options.json) {
    Json list = Json::array();
    for (const GradcheckRow& row : rows) list.push_back(row_json(row));
    print_json({{"tolerance", options.check.tolerance}, {"inputs", list}});
  } else {
    print(to_text(rows));
  }
  const auto wrong =
      std::count_if(rows.begin(), rows.end(), [](const GradcheckRow& r) { return !r.agrees; });
  if (wrong > 0)
    throw Error(ErrorCode::kInternal, fmt::format("gradcheck: the gradients of {} of {} inputs "
                                                  "differ from finite differences by more than {}",
                                                  wrong, rows.size(), options.check.tolerance));
}

}  // namespace

void add_gradcheck(Command& app) {
  auto options = std::make_shared<GradcheckArguments>();
  Command command =
      app.command("gradcheck", "Check a model's gradients against finite differences, in f64");
  add_model_option(command, options->model);
  command
      .option("--samples", options->check.samples, "Number of elements to check in a larger tensor")
      .check(within(1, std::int64_t{1} << 31));
  command.option("--tolerance", options->check.tolerance, "Largest relative error allowed")
      .check(not_negative());
  command.option("--seed", options->seed, "Random seed of the example and the elements");
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { gradcheck_model(*options); });
}

}  // namespace limpid::tool
