// The rules of unbatch, op by op.
#include "limpid/transforms/detail/example_axis.h"

#include <algorithm>

#include "limpid/ops/detail/families.h"
#include "limpid/ops/ops.h"

namespace limpid::detail {
namespace {

using Results = std::optional<std::vector<Inner>>;
using List = std::vector<std::int64_t>;

const Shape& shape_of(const ExampleCall& c, std::size_t operand) {
  return c.call.inputs[operand].shape;
}

std::optional<ExampleAxis> axis_of(const ExampleCall& c, std::size_t operand) {
  return example_axis(shape_of(c, operand), *c.inner[operand], c.size);
}

std::size_t first_with_examples(const ExampleCall& c) {
  const auto found =
      std::find_if(c.inner.begin(), c.inner.end(), [](const Inner& i) { return i.has_value(); });
  return static_cast<std::size_t>(found - c.inner.begin());
}

// Whether an operand holds the examples at this position, or can be read that way.
bool holds(const ExampleCall& c, std::size_t operand, std::int64_t inner) {
  if (!c.inner[operand] && c.repeats(operand, inner)) c.inner[operand] = inner;
  return c.inner[operand] == inner;
}

// Of one result, with the examples at an axis.
Results one_result(const ExampleCall& c, std::size_t axis, std::int64_t after) {
  return {{inner_of(c.call.outputs[0].shape, axis, after)}};
}

// The examples are in one of the first `leading` dimensions, which all operands and the result
// share. The op does the same at each index of them.
Results in_leading(const ExampleCall& c, std::size_t leading) {
  const auto at = axis_of(c, first_with_examples(c));
  if (!at || at->axis >= leading) return {};
  for (std::size_t i = 0; i < c.inner.size(); ++i)
    if (!holds(c, i, inner_of(shape_of(c, i), at->axis, at->after))) return {};
  return one_result(c, at->axis, at->after);
}

Results of_broadcast(const ExampleCall& c) {
  const auto at = axis_of(c, 0);
  if (!at) return {};
  const std::size_t added = c.call.outputs[0].shape.rank() - shape_of(c, 0).rank();
  return one_result(c, at->axis + added, at->after);
}

Results of_transpose(const ExampleCall& c) {
  const auto at = axis_of(c, 0);
  if (!at) return {};
  const List& permutation = c.call.attributes.get<List>("permutation");
  const auto to = std::find(permutation.begin(), permutation.end(), at->axis);
  return one_result(c, static_cast<std::size_t>(to - permutation.begin()), at->after);
}

// All examples are kept, at their indices.
Results of_slice(const ExampleCall& c) {
  const auto at = axis_of(c, 0);
  if (!at) return {};
  const auto number = [&](std::string_view name) {
    return c.call.attributes.get<List>(name)[at->axis];
  };
  const bool all = number("starts") == 0 && number("strides") == 1 &&
                   number("limits") == shape_of(c, 0)[at->axis];
  return all ? one_result(c, at->axis, at->after) : Results();
}

Results of_pad(const ExampleCall& c) {
  const auto at = axis_of(c, 0);
  if (!at) return {};
  for (const std::string_view name : {"low", "high", "interior"})
    if (c.call.attributes.get<List>(name)[at->axis] != 0) return {};
  return one_result(c, at->axis, at->after);
}

Results of_concatenation(const ExampleCall& c) {
  const auto at = axis_of(c, first_with_examples(c));
  const auto axis = static_cast<std::size_t>(c.call.attributes.integer("axis"));
  if (!at || at->axis == axis) return {};
  for (std::size_t i = 0; i < c.inner.size(); ++i)
    if (!holds(c, i, inner_of(shape_of(c, i), at->axis, at->after))) return {};
  return one_result(c, at->axis, at->after);
}

Results of_reduction(const ExampleCall& c) {
  const auto at = axis_of(c, 0);
  const auto axis = static_cast<std::size_t>(c.call.attributes.integer("axis"));
  if (!at || at->axis == axis) return {};
  return one_result(c, at->axis - (at->axis > axis ? 1 : 0), at->after);
}

// Examples as rows of a, or as columns of b, if the other operand is shared.
Results of_matmul(const ExampleCall& c) {
  const std::size_t lead = c.call.outputs[0].shape.rank() - 2;
  if (Results r = in_leading(c, lead)) return r;
  const std::size_t operand = first_with_examples(c);
  if (c.inner[1 - operand]) return {};
  const auto at = axis_of(c, operand);
  const bool transposed = c.call.attributes.get<bool>(operand == 0 ? "transpose_a" : "transpose_b");
  const std::size_t outer = lead + ((operand == 1) != transposed ? 1 : 0);
  if (!at || at->axis != outer) return {};
  return one_result(c, lead + operand, at->after);
}

// Besides the common leading dimensions: each example has its own indices into one table, or its
// part of each row.
Results of_gather(const ExampleCall& c) {
  const auto batch = static_cast<std::size_t>(c.call.attributes.integer("batch"));
  if (Results r = in_leading(c, batch)) return r;
  if (c.inner[0] && c.inner[1]) return {};
  const std::size_t operand = c.inner[0] ? 0 : 1;
  const auto at = axis_of(c, operand);
  if (!at || at->axis < batch) return {};
  if (operand == 1) return one_result(c, at->axis, at->after);
  if (at->axis == batch) return {};
  return one_result(c, shape_of(c, 1).rank() + at->axis - batch - 1, at->after);
}

// Each result is its operand.
Results of_barrier(const ExampleCall& c) { return c.inner; }

// Heads can be examples if each query head has a key head of its own.
std::size_t leading_of_attention(const ExampleCall& c) {
  const Shape &q = shape_of(c, 0), &k = shape_of(c, 1);
  if (q.rank() < 3) return 0;
  return q.rank() - (q[q.rank() - 3] == k[q.rank() - 3] ? 2 : 3);
}

Results of_leading_dimensions(const ExampleCall& c) {
  const Op* const op = &c.call.op;
  const auto batch = [&] { return static_cast<std::size_t>(c.call.attributes.integer("batch")); };
  if (op == &op::argsort) return in_leading(c, shape_of(c, 0).rank() - 1);
  if (op == &op::scatter_add || op == &op::scatter || op == &op::scatter_multiply ||
      op == &op::scatter_maximum || op == &op::scatter_minimum)
    return in_leading(c, batch());
  if (op == &op::scaled_dot_product_attention) return in_leading(c, leading_of_attention(c));
  if (op == &op::update_rows) return in_leading(c, shape_of(c, 2).rank());
  if (op == &op::cached_attention) return in_leading(c, shape_of(c, 3).rank());
  if (op == &op::random_bits || op == &op::fold_in) return in_leading(c, shape_of(c, 0).rank());
  return {};
}

}  // namespace

std::optional<ExampleAxis> example_axis(const Shape& shape, std::int64_t inner, std::int64_t size) {
  if (inner == 0) return {};  // of what had no elements, whose places cannot be told
  std::int64_t tail = 1;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const std::int64_t dim = shape[axis];
    if (dim == 0) return {};
    if (inner < tail * dim) {
      const std::int64_t after = inner / tail;
      if (inner % tail != 0 || dim % (size * after) != 0) return {};
      return ExampleAxis{axis, dim / (size * after), after};
    }
    tail *= dim;
  }
  return {};
}

std::int64_t inner_of(const Shape& shape, std::size_t axis, std::int64_t after) {
  return after * Shape(shape.dims().subspan(axis + 1)).elements();
}

Shape of_one(const Shape& shape, std::int64_t inner, std::int64_t size) {
  const std::size_t axis = example_axis(shape, inner, size)->axis;
  return shape.replace(axis, shape[axis] / size);
}

std::optional<std::vector<Inner>> results_of_primitive(const ExampleCall& c) {
  const Op* const op = &c.call.op;
  if (op->elementwise) return in_leading(c, shape_of(c, 0).rank());
  if (op == &op::reshape) return {{c.inner[0]}};
  if (op == &op::broadcast) return of_broadcast(c);
  if (op == &op::transpose) return of_transpose(c);
  if (op == &op::slice) return of_slice(c);
  if (op == &op::pad) return of_pad(c);
  if (op == &op::concatenate) return of_concatenation(c);
  if (op == &op::sum || op == &op::max || op == &op::min || op == &op::argmax)
    return of_reduction(c);
  if (op == &op::matmul) return of_matmul(c);
  if (op == &op::gather) return of_gather(c);
  if (op == &op::barrier) return of_barrier(c);
  return of_leading_dimensions(c);
}

}  // namespace limpid::detail
