// Fields of a message in the wire format of Protocol Buffers: detail/wire.h.
#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/formats/detail/byte_order.h"  // the machine's is the format's
#include "limpid/formats/onnx/wire/detail/wire.h"

namespace limpid::onnx::detail {
namespace {

[[noreturn]] void broken_message(std::string_view what) {
  throw Error(ErrorCode::kFormat, fmt::format("not a Protocol Buffers message: {}", what));
}

}  // namespace

std::uint64_t Wire::take_varint(std::span<const std::byte>& left) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (left.empty()) broken_message("it ends inside a number");
    const auto byte = std::to_integer<std::uint64_t>(left.front());
    left = left.subspan(1);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  broken_message("a number has more than 10 bytes");
}

std::uint64_t Wire::take_fixed(std::span<const std::byte>& left, std::size_t size) {
  if (left.size() < size) broken_message("it ends inside a number");
  std::uint64_t value = 0;
  std::memcpy(&value, left.data(), size);
  left = left.subspan(size);
  return value;
}

void Wire::check_whole(std::size_t bytes, std::size_t size) {
  if (bytes % size != 0)
    broken_message(fmt::format("{} bytes are not a multiple of {}", bytes, size));
}

bool Wire::next() {
  if (left_.empty()) return false;
  const std::uint64_t tag = take_varint(left_);
  const std::uint64_t kind = tag & 7;
  if (tag >> 32 != 0 || tag >> 3 == 0) broken_message(fmt::format("invalid field {}", tag >> 3));
  field_ = static_cast<std::uint32_t>(tag >> 3);
  kind_ = static_cast<Kind>(kind);
  switch (kind_) {
    case Kind::kVarint:
      number_ = take_varint(left_);
      return true;
    case Kind::k64:
      number_ = take_fixed(left_, 8);
      return true;
    case Kind::k32:
      number_ = take_fixed(left_, 4);
      return true;
    case Kind::kBytes: {
      const std::uint64_t size = take_varint(left_);
      if (size > left_.size())
        broken_message(
            fmt::format("field {} has {} bytes, {} are left", field_, size, left_.size()));
      bytes_ = left_.first(static_cast<std::size_t>(size));
      left_ = left_.subspan(static_cast<std::size_t>(size));
      return true;
    }
  }
  broken_message(fmt::format("field {} has the unknown wire type {}", field_, kind));
}

void Wire::require(Kind kind) const {
  if (kind_ != kind)
    broken_message(fmt::format("field {} has wire type {}, expected {}", field_,
                               static_cast<int>(kind_), static_cast<int>(kind)));
}

std::int64_t Wire::integer() const {
  require(Kind::kVarint);
  return static_cast<std::int64_t>(number_);
}

float Wire::real() const {
  require(Kind::k32);
  return std::bit_cast<float>(static_cast<std::uint32_t>(number_));
}

std::span<const std::byte> Wire::bytes() const {
  require(Kind::kBytes);
  return bytes_;
}

std::string_view Wire::text() const {
  const std::span<const std::byte> b = bytes();
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

}  // namespace limpid::onnx::detail
