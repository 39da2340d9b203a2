// The places of examples in shapes, and the rules of detail/example_axis.h.
#include "limpid/ops/detail/example_axis.h"

#include <algorithm>

namespace limpid {

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

std::size_t ExampleCall::first() const {
  const auto found =
      std::find_if(inner.begin(), inner.end(), [](const Inner& i) { return i.has_value(); });
  return static_cast<std::size_t>(found - inner.begin());
}

ExampleResults one_result(const ExampleCall& c, std::size_t axis, std::int64_t after) {
  return {{inner_of(c.call.outputs[0].shape, axis, after)}};
}

bool all_hold(const ExampleCall& c, const ExampleAxis& at) {
  for (std::size_t i = 0; i < c.inner.size(); ++i) {
    const std::int64_t inner = inner_of(c.shape_of(i), at.axis, at.after);
    if (!c.inner[i] && c.repeats(i, inner)) c.inner[i] = inner;
    if (c.inner[i] != inner) return false;
  }
  return true;
}

ExampleResults in_leading(const ExampleCall& c, std::size_t leading) {
  const auto at = c.axis_of(c.first());
  if (!at || at->axis >= leading || !all_hold(c, *at)) return {};
  return one_result(c, at->axis, at->after);
}

ExampleResults in_batch_dimensions(const ExampleCall& c) {
  return in_leading(c, static_cast<std::size_t>(c.call.attributes.integer("batch")));
}

}  // namespace limpid
