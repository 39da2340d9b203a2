#include "limpid/view/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/text.h"
#include "limpid/inspect/summary.h"

namespace limpid::view {
namespace {

// The groups of a graph by the names of scopes.
class Groups {
 public:
  explicit Groups(std::vector<Graph::Group>& groups) : groups_(groups) {}

  // The group of a scope; makes those around it, too.
  std::int64_t at(const std::string& scope) {
    if (scope.empty()) return -1;
    if (const auto found = places_.find(scope); found != places_.end()) return found->second;
    const std::size_t dot = scope.rfind('.');
    const std::int64_t parent = dot == std::string::npos ? -1 : at(scope.substr(0, dot));
    groups_.push_back({scope, parent, false});
    return places_[scope] = static_cast<std::int64_t>(groups_.size()) - 1;
  }

 private:
  std::vector<Graph::Group>& groups_;
  std::map<std::string, std::int64_t> places_;
};

// A Function without scopes, such as one from an ONNX file, gets its layers from parameter names:
// an op with "layers.0.weight" belongs to "layers.0".
std::vector<std::string> scopes_of(const Function& f, const Params& params) {
  std::vector<std::string> scopes;
  bool any = false;
  for (const Node& node : f.nodes()) {
    scopes.push_back(node.scope);
    any = any || !node.scope.empty();
  }
  for (std::size_t n = 0; !any && n < scopes.size(); ++n)
    for (const ValueId id : f.nodes()[n].inputs) {
      const auto at = static_cast<std::size_t>(id);
      if (at >= f.inputs().size() || !params.find(f.inputs()[at].name)) continue;
      const std::size_t dot = f.inputs()[at].name.rfind('.');
      if (dot != std::string::npos && scopes[n].empty())
        scopes[n] = f.inputs()[at].name.substr(0, dot);
    }
  return scopes;
}

std::vector<std::string> notes_of(const Node& node) {
  std::vector<std::string> notes;
  const TextOptions options{.bodies = false};
  for (const auto& [key, value] : node.attributes)
    if (!std::holds_alternative<Tensor>(value))
      notes.push_back(fmt::format("{} = {}", key, attribute_text(value, options)));
  return notes;
}

template <class T, class Get>
Json column(const std::vector<T>& rows, const Get& get) {
  Json::Array list;
  list.reserve(rows.size());
  for (const T& row : rows) list.emplace_back(get(row));
  return Json(std::move(list));
}

}  // namespace

Graph graph_of(const Function& f, const Params& params, std::int64_t most) {
  if (static_cast<std::int64_t>(f.nodes().size()) > most)
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("the function has {} ops, at most {} are shown", f.nodes().size(), most));
  Graph graph{.name = f.name()};
  for (std::size_t i = 0; i < f.types().size(); ++i) {
    const bool input = i < f.inputs().size();
    const bool parameter = input && params.find(f.inputs()[i].name);
    graph.values.push_back({value_name(f, static_cast<ValueId>(i)), f.types()[i],
                            parameter ? Graph::Kind::kParameter
                            : input   ? Graph::Kind::kInput
                                      : Graph::Kind::kResult,
                            -1});
  }
  const Summary summary = summarize(f, params);
  const std::vector<std::string> scopes = scopes_of(f, params);
  Groups groups(graph.groups);
  for (std::size_t n = 0; n < f.nodes().size(); ++n) {
    const Node& node = f.nodes()[n];
    const auto number = static_cast<std::int64_t>(n);
    Graph::GraphNode row{.op = std::string(node.op->name),
                         .note = fmt::format("{}", fmt::join(notes_of(node), ", ")),
                         .group = groups.at(scopes[n]),
                         .parameters = summary.rows[n].parameters,
                         .multiply_adds = summary.rows[n].multiply_adds,
                         .body = static_cast<bool>(node.op->body)};
    for (const ValueId id : node.inputs) {
      row.inputs.push_back(id);
      const std::int64_t from = graph.values[static_cast<std::size_t>(id)].node;
      graph.edges.push_back({from >= 0 ? from : -1 - id, number, id});
    }
    for (std::size_t r = 0; r < f.output_count(node); ++r) {
      const std::int64_t id = node.first_output + static_cast<std::int64_t>(r);
      row.outputs.push_back(id);
      graph.values[static_cast<std::size_t>(id)].node = number;
    }
    if (row.group >= 0) graph.groups[static_cast<std::size_t>(row.group)].layer = true;
    for (std::int64_t g = row.group; g >= 0; g = graph.groups[static_cast<std::size_t>(g)].parent) {
      ++graph.groups[static_cast<std::size_t>(g)].nodes;
      graph.groups[static_cast<std::size_t>(g)].parameters += row.parameters;
    }
    graph.nodes.push_back(std::move(row));
  }
  graph.outputs = f.outputs();
  return graph;
}

Graph graph_of_body(const Function& f, std::int64_t node, std::int64_t most) {
  if (node < 0 || node >= static_cast<std::int64_t>(f.nodes().size()) ||
      !f.nodes()[static_cast<std::size_t>(node)].op->body)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("node {} is not a composite op", node));
  const Node& n = f.nodes()[static_cast<std::size_t>(node)];
  // Of a loop, one step, not all of them.
  if (const Attribute* const body = n.attributes.find("body"))
    if (const auto* nested = std::get_if<Nested>(body))
      return graph_of(nested->function(), {}, most);
  const Function::CallTypes types = f.call_types(n);
  return graph_of(body_of({*n.op, types.inputs, types.outputs, n.attributes, n.scope}), {}, most);
}

Json to_json(const Graph& g) {
  constexpr const char* kKinds[] = {"input", "parameter", "result"};
  Json edges = Json::array();
  for (const Graph::Edge& e : g.edges) edges.push_back(Json::array({e.from, e.to, e.value}));
  Json outputs = Json::array();
  for (const Output& o : g.outputs) outputs.push_back({{"name", o.name}, {"value", o.value}});
  return {
      {"name", g.name},
      {"values",
       {{"name", column(g.values, [](const auto& v) { return v.name; })},
        {"dtype", column(g.values, [](const auto& v) { return limpid::name(v.type.dtype); })},
        {"shape", column(g.values, [](const auto& v) { return to_json(v.type.shape); })},
        {"kind",
         column(g.values, [&](const auto& v) { return kKinds[static_cast<std::size_t>(v.kind)]; })},
        {"node", column(g.values, [](const auto& v) { return v.node; })}}},
      {"nodes",
       {{"op", column(g.nodes, [](const auto& n) { return n.op; })},
        {"note", column(g.nodes, [](const auto& n) { return n.note; })},
        {"group", column(g.nodes, [](const auto& n) { return n.group; })},
        {"inputs", column(g.nodes, [](const auto& n) { return Json(n.inputs); })},
        {"outputs", column(g.nodes, [](const auto& n) { return Json(n.outputs); })},
        {"parameters", column(g.nodes, [](const auto& n) { return n.parameters; })},
        {"multiply_adds", column(g.nodes, [](const auto& n) { return n.multiply_adds; })},
        {"body", column(g.nodes, [](const auto& n) { return n.body; })}}},
      {"groups",
       {{"name", column(g.groups, [](const auto& x) { return x.name; })},
        {"parent", column(g.groups, [](const auto& x) { return x.parent; })},
        {"kind", column(g.groups, [](const auto& x) { return x.layer ? "layer" : "block"; })},
        {"nodes", column(g.groups, [](const auto& x) { return x.nodes; })},
        {"parameters", column(g.groups, [](const auto& x) { return x.parameters; })}}},
      {"edges", edges},
      {"outputs", outputs}};
}

// ---- parameters and values

std::vector<Parameter> parameters_of(const Params& params, std::int64_t bins) {
  std::vector<Parameter> all;
  for (const auto& [name, tensor] : params)
    all.push_back({name, tensor.type(), statistics(tensor), histogram(tensor, bins)});
  return all;
}

Json to_json(const Parameter& p) {
  return {{"name", p.name},
          {"value", "%" + quoted_name(p.name)},
          {"dtype", name(p.type.dtype)},
          {"shape", to_json(p.type.shape)},
          {"statistics", to_json(p.statistics)},
          {"histogram", to_json(p.histogram)}};
}

Looked look(Session& session, const Look& request) {
  Tensor tensor;
  if (request.subject.input) {
    const Computed computed = compute(session, request.subject);
    tensor = computed.run[value_of_name(computed.run.function, request.value)];
  } else {
    tensor = parameter_value(*session.model(request.subject.model), request.value);
  }
  return {request.value, statistics(tensor), histogram(tensor, request.bins),
          values_of(tensor, request.box, session.limits().values)};
}

}  // namespace limpid::view
