#include "limpid/transforms/expand.h"

#include "limpid/transforms/rewrite.h"

namespace limpid {
namespace {

std::vector<Value> expand_node(Builder& builder, const Node& node, std::span<const Value> inputs,
                               const std::function<bool(const Call&)>& wanted) {
  std::vector<Type> types;
  for (const Value& v : inputs) types.push_back(v.type());
  const Call call{*node.op, types, {}, node.attributes, node.scope};
  if (!node.op->body || !wanted(call)) return builder.call(*node.op, inputs, node.attributes);
  const Function body = body_of(call);
  std::vector<Value> values(inputs.begin(), inputs.end());
  rewrite_nodes(builder, body, values,
                [&](Builder& b, const Node& inner, std::span<const Value> in) {
                  return expand_node(b, inner, in, wanted);
                });
  return outputs_of(body, values);
}

}  // namespace

Function expand(const Function& function, const std::function<bool(const Call&)>& wanted) {
  return rewrite(function, [&](Builder& builder, const Node& node, std::span<const Value> inputs) {
    return expand_node(builder, node, inputs, wanted);
  });
}

}  // namespace limpid
