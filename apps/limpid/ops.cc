// limpid ops: what the op table says.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/output.h"
#include "limpid/inspect/reference.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

struct Options {
  std::string name;
  bool markdown = false;
};

void ops(const Options& options) {
  if (options.markdown) return print(ops_reference());
  if (!options.name.empty()) {
    const Op* op = find_op(options.name);
    if (!op)
      throw UsageError(fmt::format("there is no op '{}'; `limpid ops` lists them", options.name));
    return print(op_reference(*op));
  }
  Table table{{{"op"}, {"formula"}, {"shapes"}}, {}};
  for (const Op* op : all_ops())
    table.rows.push_back(
        {std::string(op->name), std::string(op->formula), std::string(op->shapes)});
  print(to_text(table));
}

}  // namespace

void add_ops(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("ops", "Every operation: formula, shapes, body, gradient, accuracy");
  command->add_option("op", options->name, "One operation, in full")->type_name("NAME");
  command->add_flag("--markdown", options->markdown, "Print docs/reference/ops.md");
  command->callback([options] { ops(*options); });
}

}  // namespace limpid::tool
