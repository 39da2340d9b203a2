// limpid onnx-ops: the ONNX operators that Limpid reads.
#include <memory>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

struct OnnxOpsArguments {
  bool reference = false;
  bool json = false;
};

void onnx_ops(const OnnxOpsArguments& options) {
  if (options.reference) return print(onnx::operators_reference());
  if (options.json) {
    Json list = Json::array();
    for (const onnx::OperatorRow& row : onnx::operators())
      list.push_back({{"name", row.name}, {"versions", row.versions}, {"meaning", row.meaning}});
    return print_json(Json{{"operators", list}});
  }
  Table table{{{"operator"}, {"versions"}, {"becomes"}}, {}};
  for (const onnx::OperatorRow& row : onnx::operators())
    table.rows.push_back({row.name, row.versions, row.meaning});
  print(to_text(table));
}

}  // namespace

void add_onnx_ops(Command& app) {
  auto options = std::make_shared<OnnxOpsArguments>();
  Command command = app.command("onnx-ops", "List the ONNX operators that can be imported");
  const Option json = command.flag("--json", options->json, "Print JSON");
  command
      .flag("--reference", options->reference,
            "Print the reference of ONNX support as Markdown (docs/reference/onnx.md), and exit")
      .excludes(json);
  command.run([options] { onnx_ops(*options); });
}

}  // namespace limpid::tool
