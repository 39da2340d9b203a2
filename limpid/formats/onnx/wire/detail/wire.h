// Reads the Protocol Buffers wire format of ONNX files: the fields of a message one by one, as
// views of the bytes. It copies and allocates nothing, so a file cannot request memory. Depends on
// core.
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

  // Moves to the next field; false at the end of the message. Throws kFormat if the bytes are not a
  // field.
  bool next();

  // The number of the field.
  std::uint32_t field() const { return field_; }
  // The payload. Each throws kFormat if the field has another wire type.
  std::int64_t integer() const;
  float real() const;
  std::span<const std::byte> bytes() const;
  std::string_view text() const;

  // Calls f for the elements of a repeated field: many in a packed field, one in an unpacked field.
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
