// How the calls of a Function become nodes of ONNX: a table with a row for each op, and a call as
// the code of a row sees it. Leans on graph_writer.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/formats/onnx/detail/graph_writer.h"

namespace limpid::onnx::detail {

class Calls;

// One call while it is written.
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
  // The name of its value.
  std::string input(std::size_t i);
  Names all_inputs();
  // For operators that stretch their operands by themselves: names of inputs, those that were
  // repeated to the shape of the result as they were before, unless then the result would be
  // smaller.
  Names stretching_inputs();
  // What an input was before it was repeated.
  std::string narrow_input(std::size_t i);
  // The tensor that an input repeats or is, where it is a constant.
  const Tensor* constant(std::size_t input) const;

  // ---- attributes

  Number integer(std::string_view name) const { return function_.integer(node_, name); }
  Numbers integers(std::string_view name) const { return function_.integers(node_, name); }
  // One that no batch changes. Throws kUnsupported where it does.
  std::int64_t fixed_integer(std::string_view name) const;
  std::vector<std::int64_t> fixed_integers(std::string_view name) const;
  double real(std::string_view name) const { return attributes().get<double>(name); }
  bool flag(std::string_view name) const { return attributes().get<bool>(name); }
  const Attributes& attributes() const { return here().attributes; }

  // ---- results

  // The type of result 0.
  Dtype output_dtype() const;
  Numbers output_shape() const;
  // Result 0 is this value, repeated to its shape where somebody needs it so.
  void repeat(std::size_t input);

 private:
  const Node& here() const { return function_.function().nodes()[node_]; }

  GraphWriter& graph_;
  Calls& calls_;
  const AnyBatch& function_;
  std::size_t node_;
};

// A row: `write` gives the names of the results, none where it called repeat(). A composition whose
// row is `only_where` something holds is written by its body elsewhere, as are those without a row.
// Ops that are one node by their records need no row.
struct ExportOp {
  const Op* op;
  Names (*write)(OpCall& call);
  bool (*only_where)(const Call& call) = nullptr;
};

// The tables, one a file.
std::span<const ExportOp> elementwise_export_ops();
std::span<const ExportOp> shape_export_ops();
std::span<const ExportOp> row_export_ops();
std::span<const ExportOp> layer_export_ops();
// The op's row, else one made of its record; nothing where neither writes it.
std::optional<ExportOp> find_export_op(const Op& op);

// For `only_where`: operators with attributes or sums in f32.
inline bool is_f32(const Call& call) { return call.inputs[0].dtype == Dtype::kF32; }

// The operator that the op's record names, its operands stretched.
Names write_elementwise(OpCall& call);

}  // namespace limpid::onnx::detail
