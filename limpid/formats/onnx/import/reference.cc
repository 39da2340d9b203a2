// Writes the reference page of supported operators from their tables.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "limpid/formats/onnx/import/detail/node.h"
#include "limpid/formats/onnx/onnx.h"

namespace limpid::onnx {
namespace {

std::string versions(const NodeOp& op) {
  if (op.until == 0) return fmt::format("{} and later", op.since);
  return op.until == op.since ? std::to_string(op.since)
                              : fmt::format("{} to {}", op.since, op.until);
}

}  // namespace

std::vector<OperatorRow> operators() {
  std::vector<const NodeOp*> ops;
  for (const std::span<const NodeOp> table : all_operators())
    for (const NodeOp& op : table) ops.push_back(&op);
  std::sort(ops.begin(), ops.end(), [](const NodeOp* a, const NodeOp* b) {
    return std::tie(a->domain, a->name, a->since) < std::tie(b->domain, b->name, b->since);
  });
  std::vector<OperatorRow> rows;
  for (const NodeOp* op : ops)
    rows.push_back({fmt::format("{}{}{}", op->domain, op->domain.empty() ? "" : ".", op->name),
                    versions(*op), std::string(op->meaning)});
  return rows;
}

std::string operators_reference() {
  std::string page = fmt::format(
      "# Operators of ONNX\n\n"
      "`limpid onnx-ops --reference` writes this page from the tables of limpid/formats/onnx. "
      "Versions are the supported opset\n"
      "versions of the operator's domain; of the default domain, versions up to {} are "
      "supported.\n\n"
      "| operator | versions | becomes |\n"
      "|---|---|---|\n",
      kNewestOpset);
  for (const OperatorRow& row : operators())
    page += fmt::format("| {} | {} | {} |\n", row.name, row.versions, row.meaning);
  return page;
}

}  // namespace limpid::onnx
