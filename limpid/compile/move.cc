#include "limpid/compile/move.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "limpid/core/shape.h"
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
  const std::int64_t number = n.wide ? static_cast<const std::int64_t*>(numbers)[i]
                                     : static_cast<const std::int32_t*>(numbers)[i];
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

// Through a tensor of this shape, with steps in elements on both sides.
Walk walk_through(const Shape& shape, const Strides& from, const Strides& to, std::size_t element) {
  Walk walk;
  walk.run = element;
  for (std::size_t d = 0; d < shape.rank(); ++d)
    walk.axes.push_back({static_cast<std::size_t>(shape[d]),
                         static_cast<std::size_t>(from[d]) * element,
                         static_cast<std::size_t>(to[d]) * element});
  return simplified(std::move(walk));
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

Walk walk_of_slice(const Call& call) {
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
  Walk walk = walk_through(to, from, row_major_strides(to), element);
  walk.from_first = static_cast<std::size_t>(first) * element;
  return walk;
}

Walk walk_of_part(const Call& call, std::size_t i) {
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  const Shape& part = call.inputs[i].shape;
  const Strides to = row_major_strides(call.outputs[0].shape);
  const std::size_t element = size_of(call.outputs[0].dtype);
  std::int64_t start = 0;
  for (std::size_t before = 0; before < i; ++before) start += call.inputs[before].shape[axis];
  Walk walk = walk_through(part, row_major_strides(part), to, element);
  walk.to_first = static_cast<std::size_t>(start * to[axis]) * element;
  return walk;
}

void move(const Walk& walk, const std::byte* from, std::byte* to, kernels::Range lines) {
  from += walk.from_first;
  to += walk.to_first;
  if (walk.axes.empty()) {
    if (lines.begin < lines.end) std::memcpy(to, from, walk.run);
    return;
  }
  // The offset of the first line.
  const std::size_t outer = walk.axes.size() - 1;
  std::array<std::size_t, Shape::kMaxRank> index{};
  std::size_t rest = lines.begin;
  for (std::size_t d = outer; d-- > 0;) {
    index[d] = rest % walk.axes[d].count;
    rest /= walk.axes[d].count;
    from += index[d] * walk.axes[d].from_step;
    to += index[d] * walk.axes[d].to_step;
  }
  for (std::size_t line = lines.begin; line < lines.end; ++line) {
    copy_line(walk.run, walk.axes.back(), from, to);
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

void gather(const RowNumbers& n, const void* numbers, std::size_t row, const std::byte* table,
            std::byte* out, kernels::Range range) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const std::size_t from = row_of(n, numbers, i);
    if (from == kNoRow)
      std::memset(out + i * row, 0, row);
    else
      std::memcpy(out + i * row, table + from * row, row);
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
