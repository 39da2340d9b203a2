// All calls of a Function, written one after another. Leans on export_op.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "limpid/formats/onnx/detail/export_op.h"

namespace limpid::onnx::detail {

class Calls {
 public:
  // The names of the function's inputs are taken already.
  Calls(GraphWriter& graph, const AnyBatch& function);

  // Writes every call. Requires that each op of the function has a row that writes.
  void write();

  // The name of a value; writes the repeating of one that was not needed in its shape before.
  const std::string& name(ValueId id);

  // A value as it was before it was repeated, and what it was then.
  struct Narrow {
    std::string name;
    Numbers shape;
  };
  Narrow narrow(ValueId id);

  // `id` is `of`, repeated to the shape of `id`.
  void repeat(ValueId id, ValueId of);

  // Gives a value another name, which must be free; false where no node made it.
  bool rename(std::string from, const std::string& to);

  // nullptr for an input of the function.
  const Node* maker(ValueId id) const { return makers_[static_cast<std::size_t>(id)]; }

 private:
  GraphWriter& graph_;
  const AnyBatch& function_;
  std::vector<const Node*> makers_;     // by ValueId
  std::vector<std::string> names_;      // by ValueId; "" until it is written
  std::map<ValueId, ValueId> repeats_;  // what a value repeats
};

}  // namespace limpid::onnx::detail
