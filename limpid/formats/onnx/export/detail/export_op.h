// Export of one op: a table row with the code that writes ONNX nodes for a call, and the OpCall
// that this code uses. Depends on graph_writer.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/formats/onnx/export/detail/graph_writer.h"

namespace limpid::onnx::detail {

class Calls;

// A call during the export.
class OpCall {
 public:
  OpCall(Calls& calls, GraphWriter& graph, const AnyBatch& function, std::size_t node)
      : graph_(graph), calls_(calls), function_(function), node_(node) {}

  GraphWriter& graph() { return graph_; }
  const Op& op() const { return *here().op; }

  // ---- operands

  std::size_t inputs() const { return here().inputs.size(); }
  Dtype dtype(std::size_t input) const;
  Numbers shape(std::size_t input) const;
  // The name of an input's value.
  std::string input(std::size_t i);
  Names all_inputs();
  // For operators that broadcast: the names of the inputs before they were broadcast to the shape
  // of the result, unless that would make the result smaller.
  Names stretching_inputs();
  // The name of an input before it was broadcast.
  std::string narrow_input(std::size_t i);
  // The tensor of an input that is a constant or a broadcast constant; else nullptr.
  const Tensor* constant(std::size_t input) const;

  // ---- attributes

  Number integer(std::string_view name) const { return function_.integer(node_, name); }
  Numbers integers(std::string_view name) const { return function_.integers(node_, name); }
  // An attribute that does not depend on the batch size. Throws kUnsupported if it does.
  std::int64_t fixed_integer(std::string_view name) const;
  std::vector<std::int64_t> fixed_integers(std::string_view name) const;
  double real(std::string_view name) const { return attributes().get<double>(name); }
  bool flag(std::string_view name) const { return attributes().get<bool>(name); }
  const Attributes& attributes() const { return here().attributes; }

  // ---- results

  // The type of result 0.
  Dtype output_dtype() const;
  Numbers output_shape() const;
  // Records that result 0 is this input, to be broadcast only if necessary.
  void repeat(std::size_t input);

 private:
  const Node& here() const { return function_.function().nodes()[node_]; }

  GraphWriter& graph_;
  Calls& calls_;
  const AnyBatch& function_;
  std::size_t node_;
};

// A row: `write` returns the names of the results, none if it called repeat(). If `only_where` is
// given and false for a call, or if a composition has no row, its body is written. Ops whose record
// says that they are one node need no row.
struct ExportOp {
  const Op* op;
  Names (*write)(OpCall& call);
  bool (*only_where)(const Call& call) = nullptr;
};

// The tables, one per file.
std::span<const ExportOp> elementwise_export_ops();
std::span<const ExportOp> shape_export_ops();
std::span<const ExportOp> row_export_ops();
std::span<const ExportOp> layer_export_ops();
std::span<const ExportOp> pooling_export_ops();
std::span<const ExportOp> recurrent_export_ops();
// The row of an op, or one made from its record; nullopt if there is neither.
std::optional<ExportOp> find_export_op(const Op& op);

// For `only_where`: for operators whose attributes or sums are in f32.
inline bool is_f32(const Call& call) { return call.inputs[0].dtype == Dtype::kF32; }

// Writes the operator that the op's record names, with broadcast operands.
Names write_elementwise(OpCall& call);

}  // namespace limpid::onnx::detail
