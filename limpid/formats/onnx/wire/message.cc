// The wire format of Protocol Buffers, written.
#include "limpid/formats/onnx/wire/detail/message.h"

#include <bit>

namespace limpid::onnx::detail {
namespace {

constexpr std::uint32_t kVarint = 0, kBytes = 2, kFixed32 = 5;

}  // namespace

void Message::append(std::string_view text) {
  if (parts_.empty() || parts_.back().tensor.elements() > 0) parts_.push_back({});
  parts_.back().text += text;
  size_ += text.size();
}

void Message::varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
  append(bytes);
}

void Message::key(std::uint32_t field, std::uint32_t kind) { varint(field << 3 | kind); }

Message& Message::integer(std::uint32_t field, std::int64_t value) {
  key(field, kVarint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

Message& Message::real(std::uint32_t field, float value) {
  key(field, kFixed32);
  std::string bytes;
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(value), i = 0; i < 4; ++i, bits >>= 8)
    bytes += static_cast<char>(bits & 0xff);
  append(bytes);
  return *this;
}

Message& Message::text(std::uint32_t field, std::string_view value) {
  key(field, kBytes);
  varint(value.size());
  append(value);
  return *this;
}

Message& Message::elements(std::uint32_t field, const Tensor& tensor) {
  key(field, kBytes);
  varint(tensor.bytes().size());
  if (tensor.elements() > 0) parts_.back().tensor = tensor;
  size_ += tensor.bytes().size();
  return *this;
}

Message& Message::message(std::uint32_t field, Message value) {
  key(field, kBytes);
  varint(value.size());
  for (Part& part : value.parts_) {
    append(part.text);
    size_ += part.tensor.bytes().size();
    parts_.back().tensor = std::move(part.tensor);
  }
  return *this;
}

std::vector<std::span<const std::byte>> Message::parts() const {
  std::vector<std::span<const std::byte>> all;
  for (const Part& part : parts_) {
    all.push_back(std::as_bytes(std::span(part.text)));
    all.push_back(part.tensor.bytes());
  }
  return all;
}

}  // namespace limpid::onnx::detail
