#include "tests/laws/shrink.h"

#include <map>
#include <set>

#include "limpid/function/builder.h"

namespace limpid::laws {
namespace {

// A change: values replaced by other values or by new inputs (-1), and the outputs.
struct Edit {
  std::map<ValueId, ValueId> instead;
  std::vector<ValueId> outputs;
};

std::vector<ValueId> outputs_of(const Function& f) {
  std::vector<ValueId> outputs;
  for (const Output& o : f.outputs()) outputs.push_back(o.value);
  return outputs;
}

constexpr ValueId kNewInput = -1;

// The value that replaces v; v itself if it has become an input.
ValueId resolve(const Edit& edit, ValueId v) {
  for (auto it = edit.instead.find(v); it != edit.instead.end() && it->second != kNewInput;
       it = edit.instead.find(v))
    v = it->second;
  return v;
}

// The values that the edited Function needs.
std::vector<bool> needed(const Function& f, const Edit& edit) {
  std::vector<bool> live(f.types().size(), false);
  for (ValueId o : edit.outputs) live[static_cast<std::size_t>(resolve(edit, o))] = true;
  for (std::size_t i = f.nodes().size(); i-- > 0;) {
    const Node& node = f.nodes()[i];
    bool any = false;
    for (std::size_t r = 0; r < f.output_count(node); ++r) {
      const ValueId v = node.first_output + static_cast<ValueId>(r);
      any |= live[static_cast<std::size_t>(v)] && !edit.instead.contains(v);
    }
    if (any)
      for (ValueId id : node.inputs) live[static_cast<std::size_t>(resolve(edit, id))] = true;
  }
  return live;
}

Function edited(const Function& f, const Edit& edit) {
  const std::vector<bool> live = needed(f, edit);
  Builder builder(f.name());
  std::vector<Value> values(f.types().size());
  const auto inputs = static_cast<ValueId>(f.inputs().size());
  int named = 0;
  for (std::size_t v = 0; v < values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const auto cut = edit.instead.find(id);
    const bool is_input = id < inputs || (cut != edit.instead.end() && cut->second == kNewInput);
    if (live[v] && is_input) {
      values[v] = builder.input("x" + std::to_string(named), f.type(id));
      ++named;
    }
  }
  for (const Node& node : f.nodes()) {
    bool any = false;
    const std::size_t first = static_cast<std::size_t>(node.first_output);
    for (std::size_t r = 0; r < f.output_count(node); ++r)
      any |= live[first + r] && !values[first + r];
    if (!any) continue;
    std::vector<Value> in;
    for (ValueId id : node.inputs)
      in.push_back(values[static_cast<std::size_t>(resolve(edit, id))]);
    const Builder::Scope scope(builder, node.scope);
    const std::vector<Value> results = builder.call(*node.op, in, node.attributes);
    for (std::size_t r = 0; r < results.size(); ++r)
      if (!values[first + r]) values[first + r] = results[r];
  }
  std::vector<Value> outputs;
  for (ValueId o : edit.outputs)
    outputs.push_back(values[static_cast<std::size_t>(resolve(edit, o))]);
  return builder.finish(outputs);
}

// The most promising first: those that remove much.
std::vector<Edit> edits_of(const Function& f) {
  const std::vector<ValueId> outputs = outputs_of(f);
  std::vector<Edit> edits;
  if (outputs.size() > 1)
    for (ValueId o : outputs) edits.push_back({{}, {o}});
  // Any value as the only output, the first ones first; dead branches, too.
  for (const Node& node : f.nodes()) edits.push_back({{}, {node.first_output}});
  for (std::size_t i = f.nodes().size(); i-- > 0;)
    for (std::size_t r = 0; r < f.output_count(f.nodes()[i]); ++r)
      edits.push_back(
          {{{f.nodes()[i].first_output + static_cast<ValueId>(r), kNewInput}}, outputs});
  for (const Node& node : f.nodes())
    for (std::size_t r = 0; r < f.output_count(node); ++r) {
      const ValueId result = node.first_output + static_cast<ValueId>(r);
      for (ValueId id : node.inputs)
        if (f.type(id) == f.type(result)) edits.push_back({{{result, id}}, outputs});
    }
  // Inputs of the same type merged.
  for (std::size_t a = 0; a < f.inputs().size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (f.inputs()[a].type == f.inputs()[b].type)
        edits.push_back({{{static_cast<ValueId>(a), static_cast<ValueId>(b)}}, outputs});
  for (std::size_t o = 0; o < outputs.size() && outputs.size() > 1; ++o) {
    std::vector<ValueId> fewer = outputs;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(o));
    edits.push_back({{}, fewer});
  }
  return edits;
}

// Fewer ops, then fewer outputs, then fewer inputs.
auto size_of(const Function& f) {
  return std::make_tuple(f.nodes().size(), f.outputs().size(), f.inputs().size());
}

}  // namespace

Function shrink(Function f, const std::function<bool(const Function&)>& fails) {
  for (;;) {
    bool shrunk = false;
    for (const Edit& edit : edits_of(f)) {
      Function smaller = edited(f, edit);
      if (size_of(smaller) >= size_of(f) || !fails(smaller)) continue;
      f = std::move(smaller);
      shrunk = true;
      break;
    }
    if (!shrunk) return f;
  }
}

}  // namespace limpid::laws
