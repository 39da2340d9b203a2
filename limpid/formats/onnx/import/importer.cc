// From the contents of a file to a Function: names are looked up, functions inlined, and each node
// is handed to its row of the tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/import/detail/importer.h"
#include "limpid/formats/onnx/import/detail/quantized.h"
#include "limpid/ops/constant.h"
#include "limpid/transforms/simplify.h"

namespace limpid::onnx::detail {
namespace {

// The limit on nested function bodies and graphs.
constexpr int kMaxDepth = 64;
// Longer names of nodes say nothing about layers.
constexpr std::size_t kMaxScope = 128;

[[noreturn]] void broken(const std::string& what) { throw Error(ErrorCode::kFormat, what); }

// Floating numbers, and weights of 8 bits.
bool is_parameter(const Tensor& initializer) {
  return is_floating(initializer.dtype()) || initializer.dtype() == Dtype::kI8;
}

// "net.0.attention" of "/net/net.0/attention/MatMul": PyTorch's exporter writes the modules on the
// way to an operation, and one of a list with the name of the list before its number.
std::string scope_name(const std::string& node_name) {
  const std::size_t last = node_name.rfind('/');
  if (last == std::string::npos || last > kMaxScope) return {};
  std::string scope;
  std::string_view owner;
  for (std::string_view left = std::string_view(node_name).substr(0, last); !left.empty();) {
    const std::string_view part = left.substr(0, left.find('/'));
    left.remove_prefix(std::min(left.size(), part.size() + 1));
    if (part.empty()) continue;
    const bool of_list = !owner.empty() && part.size() > owner.size() &&
                         part.substr(0, owner.size()) == owner && part[owner.size()] == '.';
    if (of_list) scope.erase(scope.size() - owner.size());
    if (!scope.empty() && !of_list) scope += '.';
    scope += part;
    owner = part;
  }
  return scope;
}

std::string label(const NodeContents& node) {
  if (!node.name.empty()) return node.op + " " + in_quotes(node.name);
  return fmt::format("{} with the output {}", in_quotes(node.op),
                     in_quotes(node.outputs.empty() ? "" : node.outputs.front()));
}

}  // namespace

void Scope::set(const std::string& name, Value value) {
  if (!values_.emplace(name, value).second)
    broken(fmt::format("duplicate value {}", in_quotes(name)));
}

Value Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope; scope = scope->outer_)
    if (const auto found = scope->values_.find(name); found != scope->values_.end())
      return found->second;
  return {};
}

bool Scope::may_be_left_out(const std::string& name) const {
  for (const Scope* scope = this; scope; scope = scope->outer_)
    if (scope->left_out_.contains(name)) return true;
  return false;
}

std::int64_t version_of(const Opsets& opsets, std::string_view domain) {
  const auto found = opsets.find(domain);
  const std::string shown = domain.empty() ? "the default domain" : in_quotes(domain);
  if (found == opsets.end()) broken(fmt::format("no opset version of {} is imported", shown));
  if (found->second < 1 || (domain.empty() && found->second > kNewestOpset))
    throw Error(ErrorCode::kUnsupported,
                fmt::format("opset version {} of {}, supported are 1 to {}", found->second, shown,
                            kNewestOpset));
  return found->second;
}

Importer::Importer(const ModelContents& model, const ImportOptions& options)
    : model_(model), options_(options), builder_(model.graph.name) {
  frames_.push_back({&builder_, {}});
  for (const FunctionContents& f : model.functions)
    if (!functions_.emplace(FunctionKey{f.domain, f.name, f.overload}, &f).second)
      broken(fmt::format("duplicate function {}", in_quotes(f.name)));
}

Imported Importer::run() {
  const AttributeMap no_attributes;
  Scope scope(model_.opsets, no_attributes);
  add_inputs(scope);
  nodes(model_.graph.nodes, scope);
  std::vector<std::string> names;
  for (const ValueContents& o : model_.graph.outputs) names.push_back(o.name);
  const Values results = outputs(names, scope);

  Imported imported;
  imported.function = with_quantized_linear(simplify(builder_.finish(results, names)));
  imported.metadata = model_.metadata;
  imported.random = random_;
  for (const ValueId id : frames_.front().known.used()) {
    const std::string& name = input_names_[static_cast<std::size_t>(id)];
    (params_.find(name) ? imported.fixed_params : imported.fixed).push_back(name);
  }
  imported.params = std::move(params_);
  return imported;
}

Importer::Frame& Importer::frame_of(const Value& value) {
  for (Frame& frame : frames_)
    if (frame.builder == &value.builder()) return frame;
  throw Error(ErrorCode::kInternal, "onnx: a value of a graph that is complete");
}

std::string Importer::input_name(const Value& value, ValueId id) {
  if (frame_of(value).builder == &builder_) return input_names_[static_cast<std::size_t>(id)];
  return "of a loop or branch";
}

Value Importer::here(const Value& value) {
  if (&value.builder() == &builder()) return value;
  KnownValues& all = known(value);
  if (!all.is_known(value)) return value;
  try {
    return constant(builder(), all.value(value));
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kUnsupported) throw;
    return value;  // too much arithmetic for an import
  }
}

void Importer::add_input(Scope& scope, const std::string& name, const Type& type,
                         const Tensor* value) {
  const Value input = builder_.input(name, type);
  input_names_.push_back(name);
  if (value) frames_.front().known.give(input, *value);
  scope.set(name, input);
}

void Importer::add_inputs(Scope& scope) {
  const GraphContents& graph = model_.graph;
  for (const auto& [name, tensor] : graph.initializers) {
    if (!is_parameter(tensor)) continue;
    add_input(scope, name, tensor.type(), &tensor);
    params_.set(name, tensor);
  }
  std::vector<std::string> missing;
  std::vector<std::pair<const ValueContents*, Type>> inputs;
  for (const ValueContents* input : data_inputs(graph))
    inputs.emplace_back(input, input_type(*input, options_, missing));
  if (!missing.empty()) {
    // Sizes help a user little whose branches cannot be read.
    const std::string operators = missing_operators(model_, true);
    throw Error(
        ErrorCode::kNotFound,
        fmt::format(
            "expected a size for each dynamic dimension (--dim NAME=N), got none "
            "for {}{}{}",
            fmt::join(missing, ", "),
            operators.empty() ? "" : "; its branches have operators that Limpid does not have: ",
            operators));
  }
  for (const auto& [input, type] : inputs) {
    const auto known = options_.known.find(input->name);
    add_input(scope, input->name, type, known == options_.known.end() ? nullptr : &known->second);
  }
  for (const auto& [name, tensor] : graph.initializers)
    if (!is_parameter(tensor)) scope.set(name, constant(builder(), tensor));
}

Values Importer::outputs(const std::vector<std::string>& names, const Scope& scope) const {
  Values values;
  for (const std::string& name : names) {
    values.push_back(scope.find(name));
    if (!values.back()) broken(fmt::format("no node computes the output {}", in_quotes(name)));
  }
  return values;
}

void Importer::count_node() {
  if (++nodes_ > kMaxNodes)
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("more than {} nodes, with functions inlined and loops unrolled", kMaxNodes));
}

void Importer::nodes(const std::vector<NodeContents>& nodes, Scope& scope) {
  if (++depth_ > kMaxDepth)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("graphs and functions are nested more than {} levels deep", kMaxDepth));
  count_node();
  for (const NodeContents& n : nodes) node(n, scope);
  --depth_;
}

void Importer::node(const NodeContents& contents, Scope& scope) {
  count_node();
  try {
    Values results;
    const Builder::Scope layer(builder(), scope_name(contents.name));
    if (const FunctionContents* function = find_function(contents)) {
      results = call_function(*function, contents, scope);
    } else {
      const std::int64_t version = version_of(scope.opsets(), contents.domain);
      const NodeOp* op = find_operator(contents.domain, contents.op, version);
      if (!op) check_operators(model_, true);  // throws: all that are missing, not this one alone
      Node node(*this, scope, contents, version);
      results = op->read(node);
    }
    for (std::size_t i = 0; i < contents.outputs.size(); ++i) {
      if (contents.outputs[i].empty()) continue;
      if (i >= results.size() || !results[i])
        broken(fmt::format("this operator has no output {}", i));
      scope.set(contents.outputs[i], results[i]);
    }
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}: {}", label(contents), e.what()));
  }
}

const FunctionContents* Importer::find_function(const NodeContents& node) const {
  const auto found = functions_.find({node.domain, node.op, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

Values Importer::call_function(const FunctionContents& function, const NodeContents& node,
                               const Scope& scope) {
  if (!active_.insert(&function).second) broken("the function is recursive");
  if (node.inputs.size() > function.inputs.size())
    broken(fmt::format("the function takes {} inputs, got {}", function.inputs.size(),
                       node.inputs.size()));
  // Resolves an attribute reference in a function body: the call's attribute (possibly a reference
  // itself) or the default.
  AttributeMap attributes;
  for (const AttributeContents& a : function.defaults) attributes[a.name] = &a;
  for (const AttributeContents& a : node.attributes) {
    const AttributeContents* given = &a;
    if (!a.reference.empty()) {
      const auto outer = scope.attributes().find(a.reference);
      if (outer == scope.attributes().end()) continue;
      given = outer->second;
    }
    attributes[a.name] = given;
  }
  const Opsets opsets = opsets_of(model_, function);
  Scope body(opsets, attributes);
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const std::string given = i < node.inputs.size() ? node.inputs[i] : std::string();
    const Value value = scope.find(given);
    if (!value && !given.empty() && !scope.may_be_left_out(given))
      broken(fmt::format("no earlier node computes {}", in_quotes(given)));
    if (value)
      body.set(function.inputs[i], value);
    else
      body.leave_out(function.inputs[i]);
  }
  nodes(function.nodes, body);
  active_.erase(&function);
  Values results;
  for (const std::string& name : function.outputs) results.push_back(body.find(name));
  return results;
}

Values Importer::graph(const GraphContents& graph, const Scope& outer,
                       std::span<const Value> arguments) {
  if (graph.inputs.size() != arguments.size())
    broken(fmt::format("the graph {} has {} inputs, expected {}", in_quotes(graph.name),
                       graph.inputs.size(), arguments.size()));
  Scope scope(&outer);
  for (std::size_t i = 0; i < arguments.size(); ++i) scope.set(graph.inputs[i].name, arguments[i]);
  for (const auto& [name, tensor] : graph.initializers)
    scope.set(name, constant(builder(), tensor));
  nodes(graph.nodes, scope);
  std::vector<std::string> names;
  for (const ValueContents& o : graph.outputs) names.push_back(o.name);
  return outputs(names, scope);
}

TracedGraph Importer::trace(const GraphContents& graph, const Scope& outer,
                            const GraphInputs& arguments, const GraphResults& finish) {
  Builder inner(graph.name, builder());
  // After an error, what called this may try another way.
  struct Guard {
    Importer& importer;
    std::size_t frames = importer.frames_.size();
    int depth = importer.depth_;
    std::set<const FunctionContents*> active = importer.active_;
    ~Guard() {
      importer.frames_.resize(frames, Frame{nullptr, {}});
      importer.depth_ = depth;
      importer.active_ = std::move(active);
    }
  };
  const Guard guard{*this};
  frames_.push_back({&inner, {}});
  Values results = this->graph(graph, outer, arguments(inner));
  finish(results);
  Function function = inner.finish(results);
  return {std::move(function), inner.captured()};
}

}  // namespace limpid::onnx::detail
