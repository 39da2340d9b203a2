// Builds a Protocol Buffers message. Tensors are referenced, not copied. Depends on core.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid::onnx::detail {

class Message {
 public:
  // Each appends one field; for a repeated field, call it once per element.
  Message& integer(std::uint32_t field, std::int64_t value);
  Message& real(std::uint32_t field, float value);
  Message& text(std::uint32_t field, std::string_view value);
  Message& elements(std::uint32_t field, const Tensor& tensor);
  Message& message(std::uint32_t field, Message value);

  std::uint64_t size() const { return size_; }
  // The bytes, in order. The spans are valid as long as this object.
  std::vector<std::span<const std::byte>> parts() const;

 private:
  // Text, then the elements of a tensor.
  struct Part {
    std::string text;
    Tensor tensor;
  };

  void key(std::uint32_t field, std::uint32_t kind);
  void varint(std::uint64_t value);
  void append(std::string_view text);

  std::vector<Part> parts_;  // the last one may still grow; empty before the first field
  std::uint64_t size_ = 0;
};

}  // namespace limpid::onnx::detail
