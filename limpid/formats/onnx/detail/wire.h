// The wire format of Protocol Buffers, in which ONNX files are written: the fields of a message one
// after another, over bytes that somebody else holds. Nothing is copied and nothing allocated, so
// that a file cannot ask for memory by it. Leans on core.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace limpid::onnx::detail {

class Wire {
 public:
  explicit Wire(std::span<const std::byte> message) : left_(message) {}

  // Steps to the next field; false at the end of the message. Throws kFormat where the bytes are no
  // field.
  bool next();

  // Number of the field.
  std::uint32_t field() const { return field_; }
  // Its payload. Each throws kFormat where the field is of another kind.
  std::int64_t integer() const;
  float real() const;
  std::span<const std::byte> bytes() const;
  std::string_view text() const;

  // The elements of a repeated field, of which a packed one holds many and an unpacked one one.
  template <class F>
  void each_integer(const F& f) const {
    if (kind_ == Kind::kVarint) return f(integer());
    for (std::span<const std::byte> left = bytes(); !left.empty();)
      f(static_cast<std::int64_t>(take_varint(left)));
  }
  // T is float or double.
  template <class T, class F>
  void each_real(const F& f) const {
    if (kind_ == (sizeof(T) == 4 ? Kind::k32 : Kind::k64)) {
      if constexpr (sizeof(T) == 4)
        return f(std::bit_cast<T>(static_cast<std::uint32_t>(number_)));
      else
        return f(std::bit_cast<T>(number_));
    }
    const std::span<const std::byte> packed = bytes();
    check_whole(packed.size(), sizeof(T));
    for (std::size_t i = 0; i < packed.size(); i += sizeof(T)) {
      T value;
      std::memcpy(&value, packed.data() + i, sizeof(T));
      f(value);
    }
  }

 private:
  enum class Kind : std::uint8_t { kVarint = 0, k64 = 1, kBytes = 2, k32 = 5 };

  static std::uint64_t take_varint(std::span<const std::byte>& left);
  static std::uint64_t take_fixed(std::span<const std::byte>& left, std::size_t size);
  static void check_whole(std::size_t bytes, std::size_t size);
  void require(Kind kind) const;

  std::span<const std::byte> left_;
  std::span<const std::byte> bytes_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
  Kind kind_ = Kind::kVarint;
};

}  // namespace limpid::onnx::detail
