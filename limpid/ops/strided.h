// Strided loops, shared by the ops that move elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "limpid/core/shape.h"

namespace limpid {

// Of fixed size: a compiled plan may run reference arithmetic, and must not allocate.
using Strides = std::array<std::int64_t, Shape::kMaxRank>;

// The strides, in elements, of a row-major tensor.
inline Strides row_major_strides(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (std::size_t d = shape.rank(); d-- > 0; step *= shape[d]) strides[d] = step;
  return strides;
}

// Calls visit(place, offset) for the first element of every line along the last dimension. `place`
// is its row-major position in `shape`, `offset` its position by the strides.
template <class Visit>
void for_each_strided_line(const Shape& shape, const Strides& strides, const Visit& visit) {
  if (shape.elements() == 0) return;
  const std::int64_t length = shape.rank() == 0 ? 1 : shape.back();
  Strides index{};
  std::int64_t offset = 0;
  for (std::int64_t place = 0; place < shape.elements(); place += length) {
    visit(place, offset);
    for (std::size_t d = shape.rank() == 0 ? 0 : shape.rank() - 1; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

// out[i] = in[offset by the strides of the multi-index of i].
template <class T>
void read_strided(const T* in, const Shape& shape, const Strides& strides, T* out) {
  const std::int64_t length = shape.rank() == 0 ? 1 : shape.back();
  const std::int64_t step = shape.rank() == 0 ? 1 : strides[shape.rank() - 1];
  for_each_strided_line(shape, strides, [&](std::int64_t place, std::int64_t offset) {
    if (step == 1)
      std::copy_n(in + offset, length, out + place);
    else
      for (std::int64_t i = 0; i < length; ++i) out[place + i] = in[offset + i * step];
  });
}

// out[offset by the strides of the multi-index of i] = in[i].
template <class T>
void write_strided(const T* in, const Shape& shape, const Strides& strides, T* out) {
  const std::int64_t length = shape.rank() == 0 ? 1 : shape.back();
  const std::int64_t step = shape.rank() == 0 ? 1 : strides[shape.rank() - 1];
  for_each_strided_line(shape, strides, [&](std::int64_t place, std::int64_t offset) {
    if (step == 1)
      std::copy_n(in + place, length, out + offset);
    else
      for (std::int64_t i = 0; i < length; ++i) out[offset + i * step] = in[place + i];
  });
}

}  // namespace limpid
