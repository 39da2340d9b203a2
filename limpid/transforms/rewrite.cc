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

std::vector<std::size_t> order_of_graph(const Function& f) {
  constexpr std::size_t kInput = static_cast<std::size_t>(-1);
  std::vector<std::size_t> maker(f.types().size(), kInput);
  for (std::size_t i = 0; i < f.nodes().size(); ++i)
    for (std::size_t r = 0; r < f.output_count(f.nodes()[i]); ++r)
      maker[static_cast<std::size_t>(f.nodes()[i].first_output) + r] = i;
  struct Visit {
    std::size_t node, operand;
  };
  std::vector<std::size_t> order;
  std::vector<bool> seen(f.nodes().size(), false);
  std::vector<Visit> path;
  const auto enter = [&](ValueId id) {
    const std::size_t node = maker[static_cast<std::size_t>(id)];
    if (node == kInput || seen[node]) return;
    seen[node] = true;
    path.push_back({node, 0});
  };
  for (const Output& o : f.outputs()) {
    enter(o.value);
    while (!path.empty()) {
      const std::size_t node = path.back().node;
      const std::size_t operand = path.back().operand++;
      if (operand < f.nodes()[node].inputs.size()) {
        enter(f.nodes()[node].inputs[operand]);
      } else {
        order.push_back(node);
        path.pop_back();
      }
    }
  }
  return order;
}

Function in_order_of_graph(const Function& function) {
  Builder builder(function.name());
  std::vector<Value> values;
  for (const Input& i : function.inputs()) values.push_back(builder.input(i.name, i.type));
  values.resize(function.types().size());
  for (const std::size_t index : order_of_graph(function)) {
    const Node& node = function.nodes()[index];
    const Builder::Scope scope(builder, node.scope);
    std::vector<Value> inputs;
    for (ValueId id : node.inputs) inputs.push_back(values[static_cast<std::size_t>(id)]);
    auto at = values.begin() + node.first_output;
    for (const Value& v : builder.call(*node.op, inputs, node.attributes)) *at++ = v;
  }
  return builder.finish(outputs_of(function, values), output_names(function));
}

std::vector<bool> dependents(const Function& f, const std::vector<bool>& inputs) {
  std::vector<bool> depends(inputs.begin(), inputs.end());
  depends.resize(f.types().size(), false);
  for (const Node& node : f.nodes()) {
    bool any = false;
    for (ValueId id : node.inputs) any = any || depends[static_cast<std::size_t>(id)];
    for (std::size_t r = 0; r < f.output_count(node); ++r)
      depends[static_cast<std::size_t>(node.first_output) + r] = any;
  }
  return depends;
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
