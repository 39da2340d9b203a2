// Tensors over the bytes of a file in memory. Depends on core; included only by sources.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "limpid/core/tensor.h"

namespace limpid::detail {

// A tensor of `data`: borrowed if there is an owner and the data is aligned, else copied.
inline Tensor borrow_or_copy(const Type& type, std::span<const std::byte> data,
                             const std::shared_ptr<const void>& owner) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(data.data()) % size_of(type.dtype) == 0;
  if (owner && aligned) return Tensor::borrow(type, data, owner);
  return Tensor::generate_bytes(
      type, [&](std::span<std::byte> out) { std::copy(data.begin(), data.end(), out.begin()); });
}

}  // namespace limpid::detail
