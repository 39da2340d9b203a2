// visit: from a Dtype to the C++ type of its elements. Depends on dtype.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "limpid/core/dtype.h"

namespace limpid {

// f(std::type_identity<T>()), T being the type of the dtype's elements:
//
//   visit(tensor.dtype(), [&]<class T>(std::type_identity<T>) { return tensor.values<T>()[0]; });
template <class F>
constexpr decltype(auto) visit(Dtype dtype, const F& f) {
  switch (dtype) {
    case Dtype::kF32:
      return f(std::type_identity<float>());
    case Dtype::kF64:
      return f(std::type_identity<double>());
    case Dtype::kBf16:
      return f(std::type_identity<Bf16>());
    case Dtype::kF16:
      return f(std::type_identity<F16>());
    case Dtype::kI32:
      return f(std::type_identity<std::int32_t>());
    case Dtype::kI64:
      return f(std::type_identity<std::int64_t>());
    case Dtype::kI8:
      return f(std::type_identity<std::int8_t>());
    case Dtype::kU8:
      return f(std::type_identity<std::uint8_t>());
    case Dtype::kBool:
      break;
  }
  return f(std::type_identity<bool>());
}

}  // namespace limpid
