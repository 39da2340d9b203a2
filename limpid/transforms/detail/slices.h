// The cotangents of slices, added up without a padded copy for each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limpid/function/value.h"

namespace limpid::detail {

// What the gradient of a slice, a part or an element gives: a value at `low` in zeros of a shape.
struct Part {
  Value value;
  std::vector<std::int64_t> low;
};

// The operand of a `pad` by zeros around it, if `v` is the result of one.
std::optional<Part> part_in_zeros(const Value& v);

// The sum of parts in zeros of this shape. Parts that are side by side are concatenated; those that
// overlap are added. Requires at least one. Its bits depend on the order of parts that overlap
// only.
Value sum_of_parts(std::vector<Part> parts, const Shape& shape);

}  // namespace limpid::detail
