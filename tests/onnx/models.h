// Small ONNX models, written in the format's own notation or with its messages.
#pragma once

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "limpid/formats/onnx/onnx.h"
#include "limpid/function/interpret.h"
#include "tests/formats/helpers.h"

namespace limpid::testing {

inline constexpr int kFloat = ::onnx::TensorProto::FLOAT;
inline constexpr int kInt64 = ::onnx::TensorProto::INT64;
inline constexpr int kBool = ::onnx::TensorProto::BOOL;

// An empty model with the operators of a version.
inline ::onnx::ModelProto empty_model(int version = 18) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(version);
  model.mutable_graph()->set_name("test");
  return model;
}

// A model in the notation of the ONNX project, with functions of the domain "own" behind the graph
// where it calls them: "(float[n, 2] x) => (y) <float w = {3}> { y = Mul(x, w) }".
inline ::onnx::ModelProto model_of(const std::string& text, int version = 18) {
  const std::string whole = "<ir_version: 8, opset_import: [\"\": " + std::to_string(version) +
                            ", \"own\": 1]> test " + text;
  ::onnx::ModelProto model;
  const auto status = ::onnx::OnnxParser::Parse(model, whole.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}
// A function of it, with the operators of a version.
inline std::string own_function(const std::string& text, int version = 18) {
  return " <domain: \"own\", opset_import: [\"\": " + std::to_string(version) + ", \"own\": 1]> " +
         text;
}

// Works on a graph and on a function.
template <class Owner>
::onnx::NodeProto& add_node(Owner& owner, const std::string& op,
                            const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs, const std::string& name = "") {
  ::onnx::NodeProto& node = *owner.add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string& i : inputs) node.add_input(i);
  for (const std::string& o : outputs) node.add_output(o);
  return node;
}

inline ::onnx::AttributeProto& add_attribute(::onnx::NodeProto& node, const std::string& name,
                                             ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto& a = *node.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}
inline void set_integer(::onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  add_attribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
}
inline void set_real(::onnx::NodeProto& node, const std::string& name, float value) {
  add_attribute(node, name, ::onnx::AttributeProto::FLOAT).set_f(value);
}
inline ::onnx::GraphProto& set_graph(::onnx::NodeProto& node, const std::string& name) {
  return *add_attribute(node, name, ::onnx::AttributeProto::GRAPH).mutable_g();
}

// A dimension is a number, or a name in quotes: {"batch", "3"} is [batch, 3]; "" has no name.
inline void set_type(::onnx::ValueInfoProto& value, const std::string& name, int type,
                     const std::vector<std::string>& dims) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::string& d : dims) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (d.empty()) continue;
    if (d.find_first_not_of("-0123456789") == std::string::npos)
      dim.set_dim_value(std::stoll(d));
    else
      dim.set_dim_param(d);
  }
}
inline void add_input(::onnx::GraphProto& graph, const std::string& name, int type,
                      const std::vector<std::string>& dims) {
  set_type(*graph.add_input(), name, type, dims);
}
inline void add_output(::onnx::GraphProto& graph, const std::string& name) {
  graph.add_output()->set_name(name);
}

inline ::onnx::TensorProto& add_initializer(::onnx::GraphProto& graph, const std::string& name,
                                            int type, const std::vector<std::int64_t>& dims) {
  ::onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t d : dims) tensor.add_dims(d);
  return tensor;
}
inline void add_integers(::onnx::GraphProto& graph, const std::string& name,
                         const std::vector<std::int64_t>& values) {
  auto& tensor = add_initializer(graph, name, kInt64, {static_cast<std::int64_t>(values.size())});
  for (const std::int64_t v : values) tensor.add_int64_data(v);
}
inline void add_integer(::onnx::GraphProto& graph, const std::string& name, std::int64_t value) {
  add_initializer(graph, name, kInt64, {}).add_int64_data(value);
}

inline Bytes bytes_of_model(const ::onnx::ModelProto& model) {
  return bytes_of(model.SerializeAsString());
}
inline onnx::Imported import(const ::onnx::ModelProto& model,
                             const onnx::ImportOptions& options = {}) {
  return onnx::parse_onnx(bytes_of_model(model), options);
}

// The numbers of the first output for tensors of f32.
inline std::vector<float> numbers(const onnx::Imported& imported,
                                  const std::vector<Tensor>& inputs) {
  std::vector<Tensor> all = imported.params.values();
  all.insert(all.end(), inputs.begin(), inputs.end());
  const std::vector<Tensor> results = interpret(imported.function, all);
  const auto values = results.at(0).values<float>();
  return {values.begin(), values.end()};
}

inline std::vector<std::string> ops_of(const onnx::Imported& imported) {
  std::vector<std::string> names;
  for (const Node& node : imported.function.nodes()) names.emplace_back(node.op->name);
  return names;
}

}  // namespace limpid::testing
