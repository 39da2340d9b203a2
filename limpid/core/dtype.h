// Element types of tensors. bf16 and f16 are storage formats: convert them to f32 to compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "limpid/core/refuse_fast_math.h"

namespace limpid {

// The element types of tensors.
enum class Dtype : std::uint8_t { kF32, kF64, kBf16, kF16, kI32, kI64, kI8, kU8, kBool };

// Bytes of one element.
std::size_t size_of(Dtype dtype);

// "f32", "f64", "bf16", "f16", "i32", "i64", "i8", "u8", "bool". dtype_from_name returns nullopt
// for another name.
std::string_view name(Dtype dtype);
std::optional<Dtype> dtype_from_name(std::string_view name);

bool is_floating(Dtype dtype);  // f32, f64, bf16 or f16

// The 16 bits of an element, in types of their own so that they are not taken for integers.
struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

// Maps the C++ type of an element to its Dtype.
template <class T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr Dtype value = Dtype::kF32;
};
template <>
struct DtypeOf<double> {
  static constexpr Dtype value = Dtype::kF64;
};
template <>
struct DtypeOf<Bf16> {
  static constexpr Dtype value = Dtype::kBf16;
};
template <>
struct DtypeOf<F16> {
  static constexpr Dtype value = Dtype::kF16;
};
template <>
struct DtypeOf<std::int32_t> {
  static constexpr Dtype value = Dtype::kI32;
};
template <>
struct DtypeOf<std::int64_t> {
  static constexpr Dtype value = Dtype::kI64;
};
template <>
struct DtypeOf<std::int8_t> {
  static constexpr Dtype value = Dtype::kI8;
};
template <>
struct DtypeOf<std::uint8_t> {
  static constexpr Dtype value = Dtype::kU8;
};
template <>
struct DtypeOf<bool> {
  static constexpr Dtype value = Dtype::kBool;
};
template <class T>
inline constexpr Dtype dtype_of = DtypeOf<T>::value;

}  // namespace limpid
