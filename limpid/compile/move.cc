#include "limpid/compile/move.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "limpid/core/shape.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/strided.h"

namespace limpid::detail {
namespace {

using List = std::vector<std::int64_t>;

// A copy of constant size compiles to a few instructions. Calling memcpy for each short run would
// take most of the time.
template <std::size_t bytes>
void copy_runs(const Walk::Axis& axis, const std::byte* from, std::byte* to) {
  for (std::size_t i = 0; i < axis.count; ++i) {
    std::memcpy(to, from, bytes);
    from += axis.from_step;
    to += axis.to_step;
  }
}

void copy_line(std::size_t run, const Walk::Axis& axis, const std::byte* from, std::byte* to) {
  switch (run) {
    case 1:
      return copy_runs<1>(axis, from, to);
    case 4:
      return copy_runs<4>(axis, from, to);
    case 8:
      return copy_runs<8>(axis, from, to);
    case 64:
      return copy_runs<64>(axis, from, to);
    case 128:
      return copy_runs<128>(axis, from, to);
    case 256:
      return copy_runs<256>(axis, from, to);
    default:
      for (std::size_t i = 0; i < axis.count; ++i)
        std::memcpy(to + i * axis.to_step, from + i * axis.from_step, run);
  }
}

constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

// The row, counted over all batches, that index i refers to.
std::size_t row_of(const RowNumbers& n, const void* numbers, std::size_t i) {
  std::int64_t number = n.wide ? static_cast<const std::int64_t*>(numbers)[i]
                               : static_cast<const std::int32_t*>(numbers)[i];
  if (n.either_end && number < 0) number += static_cast<std::int64_t>(n.rows);
  // As an unsigned number, a negative index is too large as well.
  const bool known = static_cast<std::uint64_t>(number) < n.rows;
  return known ? i / n.numbers * n.rows + static_cast<std::size_t>(number) : kNoRow;
}

// Merges what is contiguous on both sides into one run, and axes that can be stepped through as
// one.
Walk simplified(Walk walk) {
  std::vector<Walk::Axis> kept;  // the innermost first
  for (std::size_t d = walk.axes.size(); d-- > 0;) {
    const Walk::Axis& axis = walk.axes[d];
    if (axis.count == 1) continue;
    if (kept.empty() && axis.from_step == walk.run && axis.to_step == walk.run) {
      walk.run *= axis.count;
    } else if (!kept.empty() && axis.from_step == kept.back().count * kept.back().from_step &&
               axis.to_step == kept.back().count * kept.back().to_step) {
      kept.back().count *= axis.count;
    } else {
      kept.push_back(axis);
    }
  }
  walk.axes.assign(kept.rbegin(), kept.rend());
  return walk;
}

// Through a tensor of this shape but its first axes, with steps in elements on both sides.
Walk walk_through(const Shape& shape, const Strides& from, const Strides& to, std::size_t element,
                  std::size_t first_axis = 0) {
  Walk walk;
  walk.run = element;
  for (std::size_t d = first_axis; d < shape.rank(); ++d)
    walk.axes.push_back({static_cast<std::size_t>(shape[d]),
                         static_cast<std::size_t>(from[d]) * element,
                         static_cast<std::size_t>(to[d]) * element});
  return simplified(std::move(walk));
}

// Visits lines of a walk: visit(from, to) is called with the offsets of each.
template <class Visit>
void for_each_line(const Walk& walk, kernels::Range lines, const Visit& visit) {
  const std::size_t outer = walk.axes.empty() ? 0 : walk.axes.size() - 1;
  std::array<std::size_t, Shape::kMaxRank> index{};
  std::size_t rest = lines.begin, from = walk.from_first, to = walk.to_first;
  for (std::size_t d = outer; d-- > 0;) {
    index[d] = rest % walk.axes[d].count;
    rest /= walk.axes[d].count;
    from += index[d] * walk.axes[d].from_step;
    to += index[d] * walk.axes[d].to_step;
  }
  for (std::size_t line = lines.begin; line < lines.end; ++line) {
    visit(from, to);
    for (std::size_t d = outer; d-- > 0;) {
      const Walk::Axis& axis = walk.axes[d];
      from += axis.from_step;
      to += axis.to_step;
      if (++index[d] < axis.count) break;
      from -= axis.count * axis.from_step;
      to -= axis.count * axis.to_step;
      index[d] = 0;
    }
  }
}

template <class T>
void fill_run(std::byte* to, std::size_t bytes, std::uint64_t pattern) {
  std::fill_n(reinterpret_cast<T*>(to), bytes / sizeof(T), static_cast<T>(pattern));
}

}  // namespace

std::size_t Walk::lines() const {
  std::size_t lines = 1;
  for (std::size_t d = 0; d + 1 < axes.size(); ++d) lines *= axes[d].count;
  return lines;
}

std::size_t Walk::bytes() const { return run * lines() * (axes.empty() ? 1 : axes.back().count); }

Walk walk_of_permutation(const Call& call) {
  const auto& p = call.attributes.get<List>("permutation");
  const Strides steps = row_major_strides(call.inputs[0].shape);
  Strides from{};
  for (std::size_t d = 0; d < p.size(); ++d) from[d] = steps[static_cast<std::size_t>(p[d])];
  const Shape& to = call.outputs[0].shape;
  return walk_through(to, from, row_major_strides(to), size_of(call.inputs[0].dtype));
}

Walk walk_of_slice(const Call& call, std::size_t rows) {
  const auto& starts = call.attributes.get<List>("starts");
  const auto& by = call.attributes.get<List>("strides");
  const Shape& x = call.inputs[0].shape;
  const Shape& to = call.outputs[0].shape;
  const std::size_t element = size_of(call.inputs[0].dtype);
  Strides from = row_major_strides(x);
  std::int64_t first = 0;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    first += starts[d] * from[d];
    from[d] *= std::min(by[d], x[d]);
  }
  Walk walk = walk_through(to, from, row_major_strides(to), element, rows);
  walk.from_first = static_cast<std::size_t>(first) * element;
  return walk;
}

Walk walk_of_pad(const Call& call, std::size_t rows) {
  const auto& low = call.attributes.get<List>("low");
  const auto& interior = call.attributes.get<List>("interior");
  const Shape& x = call.inputs[0].shape;
  const std::size_t element = size_of(call.inputs[0].dtype);
  Strides to = row_major_strides(call.outputs[0].shape);
  std::int64_t first = 0;
  for (std::size_t d = 0; d < low.size(); ++d) {
    first += low[d] * to[d];
    if (x[d] > 1) to[d] *= interior[d] + 1;
  }
  Walk walk = walk_through(x, row_major_strides(x), to, element, rows);
  walk.to_first = static_cast<std::size_t>(first) * element;
  return walk;
}

std::vector<Walk> walks_of_filling(const Call& call, std::size_t rows) {
  const auto& low = call.attributes.get<List>("low");
  const auto& interior = call.attributes.get<List>("interior");
  const Shape& x = call.inputs[0].shape;
  const Shape& y = call.outputs[0].shape;
  const Strides to = row_major_strides(y);
  const std::size_t element = size_of(call.inputs[0].dtype);
  const auto box = [&](const Shape& shape, std::int64_t first) {
    Walk walk = walk_through(shape, {}, to, element, rows);
    // As from_step is 0, simplified() has not seen runs.
    while (!walk.axes.empty() && walk.axes.back().to_step == walk.run) {
      walk.run *= walk.axes.back().count;
      walk.axes.pop_back();
    }
    walk.to_first = static_cast<std::size_t>(first) * element;
    return walk;
  };
  bool between = x.elements() == 0;
  for (std::size_t d = 0; d < low.size(); ++d) between = between || (interior[d] > 0 && x[d] > 1);
  if (between) return {box(y, 0)};
  std::vector<Walk> walks;
  // The borders of an axis, within those of the axes before it.
  Shape within = y;
  std::int64_t first = 0;
  for (std::size_t d = 0; d < low.size(); ++d) {
    const std::int64_t behind = low[d] + x[d];
    if (low[d] > 0) walks.push_back(box(within.replace(d, low[d]), first));
    if (behind < y[d])
      walks.push_back(box(within.replace(d, y[d] - behind), first + behind * to[d]));
    within = within.replace(d, x[d]);
    first += low[d] * to[d];
  }
  return walks;
}

Walk walk_of_part(const Call& call, std::size_t i, std::size_t rows) {
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  const Shape& part = call.inputs[i].shape;
  const Strides to = row_major_strides(call.outputs[0].shape);
  const std::size_t element = size_of(call.outputs[0].dtype);
  std::int64_t start = 0;
  for (std::size_t before = 0; before < i; ++before) start += call.inputs[before].shape[axis];
  Walk walk = walk_through(part, row_major_strides(part), to, element, rows);
  walk.to_first = static_cast<std::size_t>(start * to[axis]) * element;
  return walk;
}

std::size_t axes_kept(const Call& call) {
  if (&call.op == &op::concatenate)
    return static_cast<std::size_t>(call.attributes.integer("axis"));
  const Shape& x = call.inputs[0].shape;
  const Shape& y = call.outputs[0].shape;
  std::size_t axes = 0;
  // No smaller and no larger: all of its elements, in order.
  while (axes < x.rank() && x[axes] == y[axes]) ++axes;
  return axes;
}

void move(const Walk& walk, const std::byte* from, std::byte* to, kernels::Range lines) {
  for_each_line(walk, lines, [&](std::size_t from_offset, std::size_t to_offset) {
    if (walk.axes.empty())
      std::memcpy(to + to_offset, from + from_offset, walk.run);
    else
      copy_line(walk.run, walk.axes.back(), from + from_offset, to + to_offset);
  });
}

void fill(const Walk& walk, std::uint64_t pattern, std::size_t element, std::byte* to,
          kernels::Range lines) {
  const auto fill_one = [&](std::byte* at) {
    if (element == 4)
      fill_run<std::uint32_t>(at, walk.run, pattern);
    else
      fill_run<std::uint64_t>(at, walk.run, pattern);
  };
  for_each_line(walk, lines, [&](std::size_t, std::size_t offset) {
    if (walk.axes.empty()) return fill_one(to + offset);
    for (std::size_t i = 0; i < walk.axes.back().count; ++i)
      fill_one(to + offset + i * walk.axes.back().to_step);
  });
}

void gather(const RowNumbers& n, const void* numbers, std::size_t row, const std::byte* table,
            std::uint64_t none, std::byte* out, kernels::Range range) {
  if (row == 0) return;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const std::size_t from = row_of(n, numbers, i);
    if (from != kNoRow) {
      std::memcpy(out + i * row, table + from * row, row);
      continue;
    }
    for (std::size_t at = 0; at < row; at += sizeof(none))
      std::memcpy(out + i * row + at, &none, std::min(sizeof(none), row - at));
  }
}

void scatter_add(const RowNumbers& n, const void* numbers, std::size_t width, const float* updates,
                 float* out, kernels::Range columns) {
  const std::size_t count = columns.end - columns.begin;
  for (std::size_t r = 0; r < n.batches * n.rows; ++r)
    std::memset(out + r * width + columns.begin, 0, count * sizeof(float));
  for (std::size_t i = 0; i < n.batches * n.numbers; ++i) {
    const std::size_t row = row_of(n, numbers, i);
    if (row == kNoRow) continue;
    const float* const from = updates + i * width + columns.begin;
    float* const to = out + row * width + columns.begin;
    for (std::size_t c = 0; c < count; ++c) to[c] += from[c];
  }
}

}  // namespace limpid::detail
