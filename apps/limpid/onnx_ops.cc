// limpid onnx-ops: which operators of ONNX can be read.
#include <memory>

#include "apps/limpid/command.h"
#include "apps/limpid/output.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

struct Options {
  bool reference = false;
};

void onnx_ops(const Options& options) {
  if (options.reference) return print(onnx::operators_reference());
  Table table{{{"operator"}, {"versions"}, {"what it becomes"}}, {}};
  for (const onnx::OperatorRow& row : onnx::operators())
    table.rows.push_back({row.name, row.versions, row.meaning});
  print(to_text(table));
}

}  // namespace

void add_onnx_ops(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("onnx-ops", "The operators of ONNX that can be read");
  command->add_flag("--reference", options->reference, "Print the page docs/reference/onnx.md");
  command->callback([options] { onnx_ops(*options); });
}

}  // namespace limpid::tool
