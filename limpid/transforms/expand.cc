#include "limpid/transforms/expand.h"

#include "limpid/transforms/rewrite.h"

namespace limpid {
namespace {

std::vector<Value> expand_node(Builder& builder, const Node& node, std::span<const Value> inputs,
                               const std::function<bool(const Op&)>& wanted) {
  if (!node.op->body || !wanted(*node.op)) return builder.call(*node.op, inputs, node.attributes);
  std::vector<Type> types;
  for (const Value& v : inputs) types.push_back(v.type());
  const Function body = body_of({*node.op, types, {}, node.attributes, node.scope});
  std::vector<Value> values(inputs.begin(), inputs.end());
  rewrite_nodes(builder, body, values,
                [&](Builder& b, const Node& inner, std::span<const Value> in) {
                  return expand_node(b, inner, in, wanted);
                });
  return outputs_of(body, values);
}

}  // namespace

Function expand(const Function& function, const std::function<bool(const Op&)>& wanted) {
  return rewrite(function, [&](Builder& builder, const Node& node, std::span<const Value> inputs) {
    return expand_node(builder, node, inputs, wanted);
  });
}

}  // namespace limpid
