// unbatch, op by op: where the examples of a batch are in a value, and what rules of records share.
// Depends on function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "limpid/function/op.h"

namespace limpid {

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

// A call with at least one operand that holds examples.
struct ExampleCall {
  const Call& call;
  std::int64_t size;
  // Of each operand. A rule sets the entry of a shared operand if it needs that operand for each
  // example.
  std::vector<Inner>& inner;
  // Whether a shared operand, read with this `inner`, has the same elements for each example.
  std::function<bool(std::size_t operand, std::int64_t inner)> repeats;

  const Shape& shape_of(std::size_t operand) const { return call.inputs[operand].shape; }
  // Requires that the operand holds examples.
  std::optional<ExampleAxis> axis_of(std::size_t operand) const {
    return example_axis(shape_of(operand), *inner[operand], size);
  }
  // The first operand that holds examples.
  std::size_t first() const;
};

// ---- what rules return

// `inner` of each result; nullopt if examples may mix.
using ExampleResults = std::optional<std::vector<Inner>>;

// Of one result, with the examples at an axis.
ExampleResults one_result(const ExampleCall& c, std::size_t axis, std::int64_t after);
// The examples are at that place in the first operand with examples, and all operands hold them
// there, or can be read that way.
bool all_hold(const ExampleCall& c, const ExampleAxis& at);
// The examples are in one of the first `leading` dimensions, which all operands and the result
// share. The op does the same at each index of them.
ExampleResults in_leading(const ExampleCall& c, std::size_t leading);

// ---- rules

// The leading dimensions are all of this operand.
template <std::size_t operand>
ExampleResults in_dimensions_of(const ExampleCall& c) {
  return in_leading(c, c.shape_of(operand).rank());
}
// They are the first `batch`.
ExampleResults in_batch_dimensions(const ExampleCall& c);

}  // namespace limpid
