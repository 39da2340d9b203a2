// Type: the dtype and shape of a tensor, without its elements. Prints as f32[256, 784].
#pragma once

#include <string>

#include "limpid/core/dtype.h"
#include "limpid/core/shape.h"

namespace limpid {

struct Type {
  Dtype dtype = Dtype::kF32;
  Shape shape;

  std::size_t bytes() const { return size_of(dtype) * static_cast<std::size_t>(shape.elements()); }
  bool operator==(const Type&) const = default;
};

// The f32 type of a shape, as in f32({256, 784}).
inline Type f32(const Shape& shape) { return {Dtype::kF32, shape}; }

// "f32[256, 784]".
inline std::string to_string(const Type& type) {
  return std::string(name(type.dtype)) + to_string(type.shape);
}

}  // namespace limpid
