// The rules of unbatch: where the examples of a batch are in a value, and how each op moves them.
// Depends on function and ops.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "limpid/function/op.h"

namespace limpid::detail {

// The number of consecutive elements of one example in a value: element e belongs to example e /
// inner % size. A reshape does not change it. nullopt: all examples share the value.
using Inner = std::optional<std::int64_t>;

// The dimension of a shape that holds the examples; its size is before * size * after.
struct ExampleAxis {
  std::size_t axis;
  std::int64_t before;
  std::int64_t after;
};

// nullopt if no single dimension holds all examples.
std::optional<ExampleAxis> example_axis(const Shape& shape, std::int64_t inner, std::int64_t size);
// The inverse of example_axis().
std::int64_t inner_of(const Shape& shape, std::size_t axis, std::int64_t after);
// The shape for one example; it has the same rank.
Shape of_one(const Shape& shape, std::int64_t inner, std::int64_t size);

struct ExampleCall {
  const Call& call;
  std::int64_t size;
  // Of each operand. A rule sets the entry of a shared operand if it needs that operand for each
  // example.
  std::vector<Inner>& inner;
  // Whether a shared operand, read with this `inner`, has the same elements for each example.
  std::function<bool(std::size_t operand, std::int64_t inner)> repeats;
};

// `inner` of each result of a primitive with at least one operand that holds examples; nullopt if
// examples may mix.
std::optional<std::vector<Inner>> results_of_primitive(const ExampleCall& c);

}  // namespace limpid::detail
