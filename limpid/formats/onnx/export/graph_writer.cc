// Nodes, constants and names of a graph, and their messages.
#include "limpid/formats/onnx/export/detail/graph_writer.h"
#include "limpid/core/visit_dtype.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"

namespace limpid::onnx::detail {
namespace {

// Fields of the messages in onnx.proto.
namespace node_proto {
constexpr std::uint32_t kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5;
}
namespace attribute_proto {
constexpr std::uint32_t kName = 1, kFloat = 2, kInt = 3, kText = 4, kTensor = 5, kInts = 8,
                        kType = 20;
constexpr std::int64_t kTypeFloat = 1, kTypeInt = 2, kTypeText = 3, kTypeTensor = 4, kTypeInts = 7;
}  // namespace attribute_proto
namespace tensor_proto {
constexpr std::uint32_t kDims = 1, kDataType = 2, kName = 8, kRawData = 9;
}
constexpr std::uint32_t kGraphNode = 1;

Message attribute_message(const Written& attribute) {
  namespace field = attribute_proto;
  Message message;
  message.text(field::kName, attribute.name);
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    message.integer(field::kInt, *integer).integer(field::kType, field::kTypeInt);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    message.real(field::kFloat, *real).integer(field::kType, field::kTypeFloat);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    message.text(field::kText, *text).integer(field::kType, field::kTypeText);
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    for (const std::int64_t i : *list) message.integer(field::kInts, i);
    message.integer(field::kType, field::kTypeInts);
  } else {
    message.message(field::kTensor, tensor_message("", std::get<Tensor>(attribute.value)));
    message.integer(field::kType, field::kTypeTensor);
  }
  return message;
}

template <class T>
Tensor scalar_of(double number) {
  return Tensor::scalar(static_cast<T>(number));
}

}  // namespace

std::int64_t element_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return 1;
    case Dtype::kU8:
      return 2;
    case Dtype::kI8:
      return 3;
    case Dtype::kI32:
      return 6;
    case Dtype::kI64:
      return 7;
    case Dtype::kBool:
      return 9;
    case Dtype::kF16:
      return 10;
    case Dtype::kF64:
      return 11;
    case Dtype::kBf16:
      return 16;
  }
  throw Error(ErrorCode::kInternal, "an unknown dtype");
}

Message tensor_message(const std::string& name, const Tensor& tensor) {
  namespace field = tensor_proto;
  Message message;
  for (const std::int64_t dim : tensor.shape()) message.integer(field::kDims, dim);
  message.integer(field::kDataType, element_type(tensor.dtype()));
  if (!name.empty()) message.text(field::kName, name);
  message.elements(field::kRawData, tensor);
  return message;
}

Message value_message(const std::string& name, Dtype dtype, const Numbers& shape,
                      const std::string& batch) {
  Message dims;
  for (const Number& n : shape) {
    Message dim;
    if (n.factor == 0)
      dim.integer(1, n.constant);  // dim_value
    else if (n == Number{0, 1})
      dim.text(2, batch);  // dim_param
    dims.message(1, std::move(dim));
  }
  Message tensor;  // TypeProto.Tensor: elem_type, shape
  tensor.integer(1, element_type(dtype)).message(2, std::move(dims));
  Message type;  // TypeProto: tensor_type
  type.message(1, std::move(tensor));
  Message value;  // name, type
  return value.text(1, name).message(2, std::move(type));
}

std::string GraphWriter::take_name(const std::string& name) {
  if (names_.insert(name).second) return name;
  for (int& count = counts_[name];;) {
    std::string numbered = fmt::format("{}_{}", name, ++count);
    if (names_.insert(numbered).second) return numbered;
  }
}

Names GraphWriter::nodes(std::string_view op, const Names& inputs,
                         const std::vector<Written>& attributes, std::size_t outputs) {
  const std::string name =
      take_name(scope_.empty() ? std::string(op) : fmt::format("{}/{}", scope_, op));
  Names results{name};
  while (results.size() < outputs) results.push_back(take_name(name));
  nodes_.push_back({name, std::string(op), inputs, results, attributes});
  return results;
}

std::string GraphWriter::constant(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  constexpr std::size_t kShared = 256;  // longer constants are rarely equal
  if (bytes.size() > kShared) return node("Constant", {}, {{"value", tensor}});
  std::string& name = constants_[{to_string(tensor.type()),
                                  {reinterpret_cast<const char*>(bytes.data()), bytes.size()}}];
  if (name.empty()) name = node("Constant", {}, {{"value", tensor}});
  return name;
}

std::string GraphWriter::constant(double number, Dtype dtype) {
  return visit(dtype, [&]<class T>(std::type_identity<T>) -> std::string {
    if constexpr (std::is_arithmetic_v<T>)
      return constant(Tensor::scalar(static_cast<T>(number)));
    else
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("onnx: a number of {} in the function", limpid::name(dtype)));
  });
}

std::string GraphWriter::integers(const std::vector<std::int64_t>& numbers) {
  return constant(
      Tensor::from<std::int64_t>(Shape{static_cast<std::int64_t>(numbers.size())}, numbers));
}

std::string GraphWriter::integers(const Numbers& numbers) {
  std::vector<std::int64_t> constants, factors;
  std::vector<std::pair<std::int64_t, std::int64_t>> key;
  for (const Number& n : numbers) {
    constants.push_back(n.constant);
    factors.push_back(n.factor);
    key.emplace_back(n.constant, n.factor);
  }
  const auto none = [](const std::vector<std::int64_t>& list) {
    return std::all_of(list.begin(), list.end(), [](std::int64_t i) { return i == 0; });
  };
  if (none(factors)) return integers(constants);
  std::string& name = integers_[key];
  if (!name.empty()) return name;
  if (key == decltype(key){{0, 1}})
    return name = node("Shape", {source_of_n_}, {{"end", std::int64_t{1}}});
  name = node("Mul", {integers(Numbers{{0, 1}}), integers(factors)});
  if (!none(constants)) name = node("Add", {name, integers(constants)});
  return name;
}

std::string GraphWriter::integer(Number number, Dtype dtype) {
  if (number.factor == 0) return constant(static_cast<double>(number.constant), dtype);
  const std::string scalar = node("Reshape", {integers(Numbers{number}), integers(Numbers{})});
  return dtype == Dtype::kI64 ? scalar : node("Cast", {scalar}, {{"to", element_type(dtype)}});
}

bool GraphWriter::rename(const std::string& name, const std::string& to) {
  const auto made = [&](const NodeRecord& n) {
    return std::find(n.outputs.begin(), n.outputs.end(), name) != n.outputs.end();
  };
  if (std::none_of(nodes_.begin(), nodes_.end(), made)) return false;
  for (NodeRecord& n : nodes_) {
    std::replace(n.inputs.begin(), n.inputs.end(), name, to);
    std::replace(n.outputs.begin(), n.outputs.end(), name, to);
  }
  return true;
}

void GraphWriter::write_to(Message& graph) const {
  namespace field = node_proto;
  for (const NodeRecord& n : nodes_) {
    Message node;
    for (const std::string& input : n.inputs) node.text(field::kInput, input);
    for (const std::string& output : n.outputs) node.text(field::kOutput, output);
    node.text(field::kName, n.name).text(field::kOpType, n.op);
    for (const Written& attribute : n.attributes)
      node.message(field::kAttribute, attribute_message(attribute));
    graph.message(kGraphNode, std::move(node));
  }
}

}  // namespace limpid::onnx::detail
