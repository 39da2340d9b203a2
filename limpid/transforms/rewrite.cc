#include "limpid/transforms/rewrite.h"

#include <algorithm>

namespace limpid {

void rewrite_nodes(Builder& builder, const Function& function, std::vector<Value>& values,
                   const NodeRewrite& rewrite) {
  for (const Node& node : function.nodes()) {
    const Builder::Scope scope(builder, node.scope);
    std::vector<Value> inputs;
    for (ValueId id : node.inputs) inputs.push_back(values[static_cast<std::size_t>(id)]);
    for (const Value& v : rewrite(builder, node, inputs)) values.push_back(v);
  }
}

Function rewrite(const Function& function, const NodeRewrite& rewrite) {
  Builder builder(function.name());
  std::vector<Value> values;
  for (const Input& i : function.inputs()) values.push_back(builder.input(i.name, i.type));
  rewrite_nodes(builder, function, values, rewrite);
  return builder.finish(outputs_of(function, values), output_names(function));
}

std::vector<std::string> further_names(const Function& function, const std::string& kind,
                                       std::vector<std::string> names) {
  const auto taken = [&](const Input& input) {
    return std::find(names.begin(), names.end(), input.name) != names.end();
  };
  do {
    for (std::string& name : names) name = kind + "." + name;
  } while (std::any_of(function.inputs().begin(), function.inputs().end(), taken));
  return names;
}

std::vector<std::string> output_names(const Function& function) {
  std::vector<std::string> names;
  for (const Output& o : function.outputs()) names.push_back(o.name);
  return names;
}

std::vector<Value> outputs_of(const Function& function, std::span<const Value> values) {
  std::vector<Value> outputs;
  for (const Output& o : function.outputs())
    outputs.push_back(values[static_cast<std::size_t>(o.value)]);
  return outputs;
}

}  // namespace limpid
