// limpid ops: the table of ops.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "limpid/core/in_quotes.h"
#include "limpid/inspect/reference.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

struct OpsArguments {
  std::string name;
  bool markdown = false;
  bool json = false;
};

void ops(const OpsArguments& options) {
  if (options.markdown) return print(ops_reference());
  if (!options.name.empty()) {
    const Op* op = find_op(options.name);
    if (!op)
      throw UsageError(
          fmt::format("there is no op {}; `limpid ops` lists them", in_quotes(options.name)));
    return print(op_reference(*op));
  }
  if (options.json) {
    Json list = Json::array();
    for (const Op* op : all_ops())
      list.push_back({{"name", std::string(op->name)},
                      {"formula", std::string(op->formula)},
                      {"shapes", std::string(op->shapes)}});
    return print_json(Json{{"ops", list}});
  }
  Table table{{{"op"}, {"formula"}, {"shapes"}}, {}};
  for (const Op* op : all_ops())
    table.rows.push_back(
        {std::string(op->name), std::string(op->formula), std::string(op->shapes)});
  print(to_text(table));
}

}  // namespace

void add_ops(Command& app) {
  auto options = std::make_shared<OpsArguments>();
  Command command = app.command(
      "ops", "List all ops, or describe one: formula, shapes, body, gradient, accuracy");
  const Option name = command.option("NAME", options->name, "Op to describe");
  command.flag("--json", options->json, "Print JSON: all ops").excludes(name);
  command.flag("--markdown", options->markdown,
               "Print the reference of all ops as Markdown (docs/reference/ops.md), and exit");
  command.run([options] { ops(*options); });
}

}  // namespace limpid::tool
