// Writes ONNX models: the messages of onnx.proto3 that networks with f32 and i8 weights need, in
// protobuf's wire format (https://protobuf.dev/programming-guides/encoding). Opset 23.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

class OnnxModel {
 public:
  using Shape = std::vector<std::int64_t>;
  using Attribute = std::pair<std::string, std::variant<std::int64_t, float, std::string>>;

  OnnxModel();

  void input(const std::string& name, const Shape& shape);
  void output(const std::string& name, const Shape& shape);
  void weight(const std::string& name, const Shape& shape, std::span<const float> values);
  void weight(const std::string& name, const Shape& shape, std::span<const std::int8_t> values);
  void node(const std::string& op, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs, const std::vector<Attribute>& attributes = {});

  // Throws std::runtime_error if the file cannot be written.
  void write(const std::string& path) const;

 private:
  std::string graph_;
};

}  // namespace bench
