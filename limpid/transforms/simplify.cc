#include "limpid/transforms/simplify.h"

#include <cstring>
#include <map>

#include "limpid/function/text.h"
#include "limpid/transforms/rewrite.h"

namespace limpid {
namespace {

// Which values an output needs.
std::vector<bool> needed_values(const Function& f) {
  std::vector<bool> needed(f.types().size(), false);
  for (const Output& o : f.outputs()) needed[static_cast<std::size_t>(o.value)] = true;
  for (std::size_t i = f.nodes().size(); i-- > 0;) {
    const Node& node = f.nodes()[i];
    bool any = false;
    for (std::size_t r = 0; r < f.output_count(node); ++r)
      any = any || needed[static_cast<std::size_t>(node.first_output) + r];
    if (!any) continue;
    for (ValueId id : node.inputs) needed[static_cast<std::size_t>(id)] = true;
  }
  return needed;
}

// Calls that compare equal here have the same op and inputs and print the same attributes: one in a
// bucket is then compared exactly. Large tensors are told apart by their type and address only, to
// keep this linear.
std::string bucket(const Node& node, std::span<const Value> inputs) {
  std::string key(node.op->name);
  for (const Value& v : inputs) key += "," + std::to_string(v.id());
  for (const auto& [name, value] : node.attributes) {
    key += ";" + name + "=" + attribute_text(value, {.max_elements = 16});
    if (const auto* t = std::get_if<Tensor>(&value); t && t->elements() > 16)
      key += std::to_string(reinterpret_cast<std::uintptr_t>(t->bytes().data()));
  }
  return key;
}

struct Seen {
  Attributes attributes;
  std::vector<Value> results;
};

}  // namespace

Function simplify(const Function& function) {
  const std::vector<bool> needed = needed_values(function);
  std::map<std::string, std::vector<Seen>> seen;
  return rewrite(function, [&](Builder& builder, const Node& node, std::span<const Value> inputs) {
    const auto first = static_cast<std::size_t>(node.first_output);
    const std::size_t count = function.output_count(node);
    bool any = false;
    for (std::size_t r = 0; r < count; ++r) any = any || needed[first + r];
    if (!any) return std::vector<Value>(count);
    std::vector<Seen>& alike = seen[bucket(node, inputs)];
    for (const Seen& s : alike)
      if (s.attributes == node.attributes) return s.results;
    alike.push_back({node.attributes, builder.call(*node.op, inputs, node.attributes)});
    return alike.back().results;
  });
}

}  // namespace limpid
