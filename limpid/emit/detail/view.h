// View: where the elements of a tensor stand in a buffer, by strides. Reshapes, broadcasts,
// transposes and slices are other views of the same elements and cost nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limpid/core/shape.h"

namespace limpid::emit {

struct View {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;  // in elements; 0 where a dimension repeats one element
  std::int64_t offset = 0;

  bool operator==(const View&) const = default;
};

// Row-major.
View whole(const Shape& shape);
// Whether the elements stand one after the other, in order; the first one may stand anywhere.
bool is_contiguous(const View& view);

View broadcast(const View& view, const Shape& to);
View transpose(const View& view, std::span<const std::int64_t> permutation);
// Every strides[d]-th element from starts[d] on, `to` of them.
View slice(const View& view, std::span<const std::int64_t> starts,
           std::span<const std::int64_t> strides, const Shape& to);
// The same elements in the same order under other dimensions; nothing where no strides say that.
std::optional<View> reshape(const View& view, std::span<const std::int64_t> dims);

}  // namespace limpid::emit
