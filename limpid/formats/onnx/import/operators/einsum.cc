// Einsum.
#include "limpid/ops/einsum.h"

#include "limpid/formats/onnx/import/detail/operators.h"

namespace limpid::onnx::detail {
namespace {

Values import_einsum(Node& node) {
  try {
    return {einsum(node.text("equation", ""), node.inputs())};
  } catch (const Error& error) {
    // The operands do not fit the equation, or it is none: a fault of the file.
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    node.fail(ErrorCode::kFormat, error.what());
  }
}

constexpr NodeOp kEinsumOperators[] = {
    {.name = "Einsum",
     .since = 12,
     .meaning = "transposes, sums and matrix products, of two operands at a time",
     .import = import_einsum},
};

}  // namespace

constexpr std::span<const NodeOp> einsum_operators = kEinsumOperators;

}  // namespace limpid::onnx::detail
