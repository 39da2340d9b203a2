// The calls of a Function in order; a broadcast is exported only where its elements are needed.
#include "limpid/formats/onnx/export/detail/calls.h"

#include <algorithm>

namespace limpid::onnx::detail {

Calls::Calls(GraphWriter& graph, const AnyBatch& function) : graph_(graph), function_(function) {
  const Function& f = function.function();
  makers_.resize(f.types().size());
  names_.resize(f.types().size());
  for (std::size_t i = 0; i < f.inputs().size(); ++i) names_[i] = f.inputs()[i].name;
  for (const Node& node : f.nodes())
    for (std::size_t i = 0; i < f.output_count(node); ++i)
      makers_[static_cast<std::size_t>(node.first_output) + i] = &node;
}

void Calls::write() {
  const Function& f = function_.function();
  for (std::size_t i = 0; i < f.nodes().size(); ++i) {
    const Node& node = f.nodes()[i];
    graph_.set_scope(node.scope);
    OpCall call(*this, graph_, function_, i);
    const Names results = find_export_op(*node.op)->write(call);
    for (std::size_t r = 0; r < results.size(); ++r)
      names_[static_cast<std::size_t>(node.first_output) + r] = results[r];
  }
  graph_.set_scope("");
}

// A dimension that the operand already has is requested as 1, which changes nothing.
const std::string& Calls::name(ValueId id) {
  std::string& name = names_[static_cast<std::size_t>(id)];
  if (!name.empty()) return name;
  const Narrow from = narrow(id);
  Numbers shape = function_.shape(id);
  const std::size_t before = shape.size() - from.shape.size();
  for (std::size_t d = 0; d < from.shape.size(); ++d)
    if (from.shape[d] == shape[before + d] && from.shape[d].factor != 0) shape[before + d] = {1, 0};
  return name = graph_.node("Expand", {from.name, graph_.integers(shape)});
}

Calls::Narrow Calls::narrow(ValueId id) {
  for (auto of = repeats_.find(id); of != repeats_.end(); of = repeats_.find(id)) id = of->second;
  return {name(id), function_.shape(id)};
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): `from` may be one of names_
bool Calls::rename(std::string from, const std::string& to) {
  if (!graph_.rename(from, to)) return false;
  std::replace(names_.begin(), names_.end(), from, to);
  return true;
}

void Calls::repeat(ValueId id, ValueId of) { repeats_[id] = of; }

}  // namespace limpid::onnx::detail
