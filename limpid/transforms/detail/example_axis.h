// Where the examples of a batch are in a value, and what an op does to that place: the rules of
// unbatch. Depends on function and ops.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "limpid/function/op.h"

namespace limpid::detail {

// Of a value that holds the examples: how many elements follow one another for one example, so that
// element e belongs to example e / inner % size. A reshape leaves it as it is. Nothing: the value
// is shared by all examples.
using Inner = std::optional<std::int64_t>;

// The dimension of a shape that holds the examples: it is before * size * after.
struct ExampleAxis {
  std::size_t axis;
  std::int64_t before;
  std::int64_t after;
};

// Nothing where no single dimension holds all examples.
std::optional<ExampleAxis> example_axis(const Shape& shape, std::int64_t inner, std::int64_t size);
// The inverse.
std::int64_t inner_of(const Shape& shape, std::size_t axis, std::int64_t after);
// The shape that is left for one example; its rank is the same.
Shape of_one(const Shape& shape, std::int64_t inner, std::int64_t size);

struct ExampleCall {
  const Call& call;
  std::int64_t size;
  // Of each operand. A rule sets those of shared operands which it needs for each example.
  std::vector<Inner>& inner;
  // Whether a shared operand has the same elements for each example at this place.
  std::function<bool(std::size_t operand, std::int64_t inner)> repeats;
};

// Of each result of a primitive with at least one operand that holds examples. Nothing where
// examples may mix.
std::optional<std::vector<Inner>> results_of_primitive(const ExampleCall& c);

// Whether each element of the result is made of the elements at its place alone.
bool is_elementwise(const Op& op);

}  // namespace limpid::detail
