#include "limpid/function/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/function/signature.h"

namespace limpid {

Type Value::type() const { return builder_->type(id_); }

Builder::Builder(std::string name) { parts_.name = std::move(name); }

Value Builder::input(std::string name, const Type& type) {
  if (!parts_.nodes.empty())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("function '{}': input '{}' comes after an op", parts_.name, name));
  if (!input_names_.insert(name).second)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("function '{}': two inputs are named '{}'", parts_.name, name));
  parts_.inputs.push_back({std::move(name), type});
  parts_.types.push_back(type);
  return {this, static_cast<ValueId>(parts_.types.size()) - 1};
}

std::vector<Value> Builder::call(const Op& op, std::span<const Value> inputs,
                                 Attributes attributes) {
  Node node{&op, {}, std::move(attributes), static_cast<ValueId>(parts_.types.size()), scope_};
  std::vector<Type> types;
  for (const Value& v : inputs) {
    if (!v || &v.builder() != this)
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: an input is not a value of function '{}'", op.name, parts_.name));
    node.inputs.push_back(v.id());
    types.push_back(v.type());
  }
  const Call call{op, types, {}, node.attributes, scope_};
  check_signature(call);
  std::vector<Value> results;
  for (Type& t : op.types(call)) {
    parts_.types.push_back(t);
    results.emplace_back(this, static_cast<ValueId>(parts_.types.size()) - 1);
  }
  parts_.nodes.push_back(std::move(node));
  return results;
}

const Node* Builder::maker(ValueId id) const {
  const auto after = std::upper_bound(parts_.nodes.begin(), parts_.nodes.end(), id,
                                      [](ValueId v, const Node& n) { return v < n.first_output; });
  return after == parts_.nodes.begin() ? nullptr : &*std::prev(after);
}

std::vector<Value> Builder::inline_function(const Function& function,
                                            std::span<const Value> arguments) {
  if (arguments.size() != function.inputs().size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("function '{}' takes {} inputs, {} came", function.name(),
                            function.inputs().size(), arguments.size()));
  std::vector<Value> values(arguments.begin(), arguments.end());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!(arguments[i].type() == function.inputs()[i].type))
      throw Error(ErrorCode::kShape,
                  fmt::format("function '{}': input '{}' is {}, {} came", function.name(),
                              function.inputs()[i].name, to_string(function.inputs()[i].type),
                              to_string(arguments[i].type())));
  for (const Node& node : function.nodes()) {
    const Scope scope(*this, node.scope);
    std::vector<Value> in;
    for (ValueId id : node.inputs) in.push_back(values[static_cast<std::size_t>(id)]);
    for (const Value& v : call(*node.op, in, node.attributes)) values.push_back(v);
  }
  std::vector<Value> results;
  for (const Output& o : function.outputs())
    results.push_back(values[static_cast<std::size_t>(o.value)]);
  return results;
}

Function Builder::finish(std::span<const Value> outputs, std::vector<std::string> output_names) {
  output_names.resize(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i] || &outputs[i].builder() != this)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("function '{}': output {} is not a value of it", parts_.name, i));
    parts_.outputs.push_back({std::move(output_names[i]), outputs[i].id()});
  }
  return Function(std::move(parts_));
}

Builder::Scope::Scope(Builder& builder, std::string_view name)
    : builder_(builder), outer_(builder.scope_) {
  if (!name.empty()) builder_.scope_ = Named<Value>::join(outer_, name);
}

std::vector<Value> call(const Op& op, std::span<const Value> inputs, Attributes attributes) {
  if (inputs.empty() || !inputs.front())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: the first input is not a value of any function", op.name));
  return inputs.front().builder().call(op, inputs, std::move(attributes));
}

Value call1(const Op& op, std::initializer_list<Value> inputs, Attributes attributes) {
  return call(op, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attributes))
      .front();
}

Function trace(std::string name, std::vector<Input> inputs,
               const std::function<std::vector<Value>(std::span<const Value>)>& code,
               std::vector<std::string> output_names) {
  Builder builder(std::move(name));
  std::vector<Value> values;
  for (Input& i : inputs) values.push_back(builder.input(std::move(i.name), i.type));
  const std::vector<Value> outputs = code(values);
  return builder.finish(outputs, std::move(output_names));
}

Function body_of(const Call& call) {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    inputs.push_back({std::to_string(i), call.inputs[i]});
  return trace(std::string(call.op.name), std::move(inputs), [&](std::span<const Value> values) {
    return call.op.body(values, call.attributes);
  });
}

}  // namespace limpid
