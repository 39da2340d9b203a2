#include "limpid/transforms/vmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "limpid/core/error.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/simplify.h"

namespace limpid {
namespace {

struct Mapped {
  std::vector<Value> values;
  std::vector<bool> batched;
};

void map_nodes(Builder& builder, const Function& f, Mapped& state, std::int64_t size);

// The results of one node, with the batch as first dimension.
std::vector<Value> map_node(Builder& builder, const Function& f, const Node& node,
                            const std::vector<Value>& inputs, const bool* batched,
                            std::int64_t size) {
  const BatchingRule& batching = node.op->batching;
  if (batching.rule) {
    std::vector<Value> results =
        batching.rule({inputs, {batched, inputs.size()}, size, node.attributes, builder});
    if (!results.empty() || !batching.through_body) return results;
  }
  const Function::CallTypes types = f.call_types(node);
  const Function body = body_of({*node.op, types.inputs, {}, node.attributes, node.scope});
  Mapped inner{inputs, std::vector<bool>(batched, batched + inputs.size())};
  map_nodes(builder, body, inner, size);
  std::vector<Value> results;
  for (const Output& o : body.outputs()) {
    const auto id = static_cast<std::size_t>(o.value);
    const Value& v = inner.values[id];
    results.push_back(inner.batched[id] ? v : broadcast(v, v.shape().insert(0, size)));
  }
  return results;
}

void map_nodes(Builder& builder, const Function& f, Mapped& state, std::int64_t size) {
  for (const Node& node : f.nodes()) {
    const Builder::Scope scope(builder, node.scope);
    std::vector<Value> inputs;
    const std::unique_ptr<bool[]> batched(new bool[node.inputs.size()]);
    bool any = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto id = static_cast<std::size_t>(node.inputs[i]);
      inputs.push_back(state.values[id]);
      batched[i] = state.batched[id];
      any |= batched[i];
    }
    const std::vector<Value> results = any ? map_node(builder, f, node, inputs, batched.get(), size)
                                           : builder.call(*node.op, inputs, node.attributes);
    for (const Value& v : results) {
      state.values.push_back(v);
      state.batched.push_back(any);
    }
  }
}

// The batch dimension moved from `axis` to the front.
Value to_front(const Value& x, std::size_t axis) {
  if (axis == 0) return x;
  std::vector<std::int64_t> permutation{static_cast<std::int64_t>(axis)};
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (d != axis) permutation.push_back(static_cast<std::int64_t>(d));
  return transpose(x, permutation);
}

}  // namespace

Function vmap(const Function& f, const std::vector<std::optional<std::int64_t>>& in_axes,
              std::int64_t size) {
  if (in_axes.size() != f.inputs().size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("vmap of '{}': {} axes for {} inputs", f.name(), in_axes.size(),
                            f.inputs().size()));
  if (std::none_of(in_axes.begin(), in_axes.end(), [](const auto& a) { return a.has_value(); }))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("vmap of '{}': no input has a batch axis", f.name()));
  Builder builder(f.name());
  Mapped state;
  std::vector<std::size_t> axes(in_axes.size(), 0);
  for (std::size_t i = 0; i < in_axes.size(); ++i) {
    Type type = f.inputs()[i].type;
    if (in_axes[i]) {
      axes[i] =
          normalize_axis(*in_axes[i], type.shape.rank() + 1,
                         fmt::format("vmap of '{}', input '{}'", f.name(), f.inputs()[i].name));
      type.shape = type.shape.insert(axes[i], size);
    }
    state.values.push_back(builder.input(f.inputs()[i].name, type));
    state.batched.push_back(in_axes[i].has_value());
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    state.values[i] = to_front(state.values[i], axes[i]);
  map_nodes(builder, f, state, size);

  std::vector<Value> outputs;
  for (const Output& o : f.outputs()) {
    const auto id = static_cast<std::size_t>(o.value);
    const Value& v = state.values[id];
    outputs.push_back(state.batched[id] ? v : broadcast(v, v.shape().insert(0, size)));
  }
  return simplify(builder.finish(outputs, output_names(f)));
}

}  // namespace limpid
