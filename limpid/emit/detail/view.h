// View: the positions of a tensor's elements in a buffer, by strides. Reshape, broadcast, transpose
// and slice only change the view and cost nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limpid/core/shape.h"

namespace limpid::emit {

struct View {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;  // in elements; 0 for a repeated dimension
  std::int64_t offset = 0;

  bool operator==(const View&) const = default;
};

// The row-major view of a whole buffer.
View whole(const Shape& shape);
// Whether the elements are contiguous and in order, from any offset.
bool is_contiguous(const View& view);

View broadcast(const View& view, const Shape& to);
View transpose(const View& view, std::span<const std::int64_t> permutation);
// Every strides[d]-th element from starts[d] on, `to` of them.
View slice(const View& view, std::span<const std::int64_t> starts,
           std::span<const std::int64_t> strides, const Shape& to);
// The same elements in the same order with other dimensions; nullopt if no strides can express it.
std::optional<View> reshape(const View& view, std::span<const std::int64_t> dims);

}  // namespace limpid::emit
