#include "bench/onnx_writer.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace bench {
namespace {

constexpr std::int64_t kIrVersion = 11, kOpset = 23;
constexpr std::int64_t kFloat = 1, kInt8 = 3;  // TensorProto.DataType

// The wire types of protobuf.
enum Wire { kVarint = 0, kBytes = 2, kFixed32 = 5 };

void varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void tag(std::string& out, unsigned field, Wire wire) { varint(out, field << 3 | wire); }

void integer(std::string& out, unsigned field, std::int64_t value) {
  tag(out, field, kVarint);
  varint(out, static_cast<std::uint64_t>(value));
}

// A string, bytes, or a message.
void bytes(std::string& out, unsigned field, std::string_view value) {
  tag(out, field, kBytes);
  varint(out, value.size());
  out += value;
}

void real(std::string& out, unsigned field, float value) {
  tag(out, field, kFixed32);
  char little_endian[sizeof value];
  std::memcpy(little_endian, &value, sizeof value);
  out.append(little_endian, sizeof value);
}

// ValueInfoProto: name 1, type 2 (TypeProto: tensor_type 1 (elem_type 1, shape 2 (dim 1
// (dim_value 1)))).
std::string value_info(const std::string& name, const OnnxModel::Shape& shape) {
  std::string dims;
  for (const std::int64_t size : shape) {
    std::string dim;
    integer(dim, 1, size);
    bytes(dims, 1, dim);
  }
  std::string tensor, type, info;
  integer(tensor, 1, kFloat);
  bytes(tensor, 2, dims);
  bytes(type, 1, tensor);
  bytes(info, 1, name);
  bytes(info, 2, type);
  return info;
}

// TensorProto: dims 1, data_type 2, name 8, raw_data 9.
std::string tensor_proto(const std::string& name, const OnnxModel::Shape& shape, std::int64_t type,
                         std::span<const std::byte> values) {
  std::string tensor;
  for (const std::int64_t size : shape) integer(tensor, 1, size);
  integer(tensor, 2, type);
  bytes(tensor, 8, name);
  bytes(tensor, 9, {reinterpret_cast<const char*>(values.data()), values.size()});
  return tensor;
}

// AttributeProto: name 1, f 2, i 3, s 4, type 20 (FLOAT 1, INT 2, STRING 3).
std::string attribute_proto(const OnnxModel::Attribute& attribute) {
  std::string out;
  bytes(out, 1, attribute.first);
  if (const auto* f = std::get_if<float>(&attribute.second)) {
    real(out, 2, *f);
    integer(out, 20, 1);
  } else if (const auto* i = std::get_if<std::int64_t>(&attribute.second)) {
    integer(out, 3, *i);
    integer(out, 20, 2);
  } else {
    bytes(out, 4, std::get<std::string>(attribute.second));
    integer(out, 20, 3);
  }
  return out;
}

}  // namespace

// GraphProto: node 1, name 2, initializer 5, input 11, output 12.

OnnxModel::OnnxModel() { bytes(graph_, 2, "bench"); }

void OnnxModel::input(const std::string& name, const Shape& shape) {
  bytes(graph_, 11, value_info(name, shape));
}

void OnnxModel::output(const std::string& name, const Shape& shape) {
  bytes(graph_, 12, value_info(name, shape));
}

void OnnxModel::weight(const std::string& name, const Shape& shape, std::span<const float> values) {
  bytes(graph_, 5, tensor_proto(name, shape, kFloat, std::as_bytes(values)));
}

void OnnxModel::weight(const std::string& name, const Shape& shape,
                       std::span<const std::int8_t> values) {
  bytes(graph_, 5, tensor_proto(name, shape, kInt8, std::as_bytes(values)));
}

// NodeProto: input 1, output 2, op_type 4, attribute 5.
void OnnxModel::node(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs,
                     const std::vector<Attribute>& attributes) {
  std::string node;
  for (const std::string& name : inputs) bytes(node, 1, name);
  for (const std::string& name : outputs) bytes(node, 2, name);
  bytes(node, 4, op);
  for (const Attribute& attribute : attributes) bytes(node, 5, attribute_proto(attribute));
  bytes(graph_, 1, node);
}

// ModelProto: ir_version 1, graph 7, opset_import 8 (version 2).
void OnnxModel::write(const std::string& path) const {
  std::string opset, model;
  integer(opset, 2, kOpset);
  integer(model, 1, kIrVersion);
  bytes(model, 8, opset);
  tag(model, 7, kBytes);
  varint(model, graph_.size());
  std::ofstream file(path, std::ios::binary);
  file << model << graph_;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace bench
