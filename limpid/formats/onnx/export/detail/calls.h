// Writes all calls of a Function in order. Depends on export_op.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "limpid/formats/onnx/export/detail/export_op.h"

namespace limpid::onnx::detail {

class Calls {
 public:
  // The graph must already have the names of the function's inputs.
  Calls(GraphWriter& graph, const AnyBatch& function);

  // Writes every call. Requires a row for each op of the function.
  void write();

  // The name of a value. If the value is a broadcast that was not written yet, writes it.
  const std::string& name(ValueId id);

  // The operand of a broadcast: its name and shape.
  struct Narrow {
    std::string name;
    Numbers shape;
  };
  Narrow narrow(ValueId id);

  // Records that `id` is `of`, broadcast to the shape of `id`.
  void repeat(ValueId id, ValueId of);

  // Renames a value; the new name must be free. False if it is not the output of a node.
  bool rename(std::string from, const std::string& to);

  // nullptr for an input of the function.
  const Node* maker(ValueId id) const { return makers_[static_cast<std::size_t>(id)]; }

 private:
  GraphWriter& graph_;
  const AnyBatch& function_;
  std::vector<const Node*> makers_;     // by ValueId
  std::vector<std::string> names_;      // by ValueId; "" until it is written
  std::map<ValueId, ValueId> repeats_;  // operands of broadcasts
};

}  // namespace limpid::onnx::detail
