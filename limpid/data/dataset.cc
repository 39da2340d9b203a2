#include "limpid/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/data/batches.h"

namespace limpid {
namespace {

// As gather_rows of batches.h. Of a large source nothing is copied: rows are read from it.
Tensor select_rows(const Tensor& source, std::span<const std::int32_t> rows) {
  constexpr std::size_t kCopied = std::size_t{16} << 20;  // bytes
  const std::int64_t all = source.shape()[0];
  const auto exists = [all](std::int32_t row) { return row >= 0 && row < all; };
  if (source.type().bytes() <= kCopied || !std::all_of(rows.begin(), rows.end(), exists))
    return gather_rows(source, rows);
  const std::size_t one = source.type().bytes() / static_cast<std::size_t>(all);
  return Tensor::deferred_rows(
      {source.dtype(), source.shape().replace(0, static_cast<std::int64_t>(rows.size()))},
      [=, order = std::vector(rows.begin(), rows.end())](std::int64_t first, std::int64_t count,
                                                         std::span<std::byte> out) {
        for (std::int64_t i = 0; i < count; ++i)
          source.read_rows(order[static_cast<std::size_t>(first + i)], 1,
                           out.subspan(static_cast<std::size_t>(i) * one, one));
      });
}

// ---- windows

void check_rows(const Dataset& data, std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 0 || first > data.size() - count)
    throw Error(ErrorCode::kShape, fmt::format("{}: examples {} to {} of {}", data.name, first,
                                               first + count - 1, data.size()));
}

// [count, ...] of i32 [...], write(i, row) filling one after the other.
template <class Write>
Tensor array_of(const Type& one, std::int64_t count, const Write& write) {
  return Tensor::generate<std::int32_t>(
      one.shape.insert(0, count), [&](std::span<std::int32_t> out) {
        const auto stride = static_cast<std::size_t>(one.shape.elements());
        for (std::int64_t i = 0; i < count; ++i)
          write(i, out.subspan(static_cast<std::size_t>(i) * stride, stride));
      });
}

}  // namespace

std::int64_t Dataset::outputs() const { return has_classes() ? classes : targets.shape().back(); }

Type Dataset::input_type() const {
  return windows ? Type{Dtype::kI32, {windows->context}}
                 : Type{inputs.dtype(), inputs.shape().erase(0)};
}

Type Dataset::target_type() const {
  return windows ? Type{Dtype::kI32, windows->target_shape()}
                 : Type{targets.dtype(), targets.shape().erase(0)};
}

bool Dataset::fits(const Type& example) const {
  const Type given = input_type();
  if (given == example) return true;
  if (given.dtype != example.dtype) return false;
  if (picture && example.shape == Shape{picture->channels, picture->height, picture->width})
    return true;
  const std::optional<SequenceShape> steps = as_sequence();
  return steps && example.shape == Shape{steps->steps, steps->features};
}

std::optional<SequenceShape> Dataset::as_sequence() const {
  if (sequence) return sequence;
  if (picture && picture->channels == 1) return SequenceShape{picture->height, picture->width};
  return {};
}

Tensor Dataset::inputs_of(std::int64_t first, std::int64_t count) const {
  if (!windows) return inputs.rows(first, count);
  check_rows(*this, first, count);
  return array_of(input_type(), count,
                  [&](std::int64_t i, auto out) { windows->write_inputs(first + i, 0, out); });
}

Tensor Dataset::targets_of(std::int64_t first, std::int64_t count) const {
  if (!windows) return targets.rows(first, count);
  check_rows(*this, first, count);
  return array_of(target_type(), count,
                  [&](std::int64_t i, auto out) { windows->write_targets(first + i, 0, out); });
}

Dataset Dataset::rows(std::int64_t first, std::int64_t count) const {
  Dataset part = *this;
  if (windows) {
    check_rows(*this, first, count);
    part.windows = windows->rows(first, count);
    return part;
  }
  part.inputs = inputs.rows(first, count);
  part.targets = targets.rows(first, count);
  if (rows_of_table) {
    const auto from = rows_of_table->of_example.begin() + static_cast<std::ptrdiff_t>(first);
    part.rows_of_table->of_example.assign(from, from + static_cast<std::ptrdiff_t>(count));
  }
  return part;
}

std::int64_t Dataset::counted(std::int64_t row) const {
  return windows ? windows->counted(row) : target_type().shape.elements();
}

Dataset gather_rows(const Dataset& data, std::span<const std::int32_t> rows) {
  if (data.windows)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("gather_rows: expected arrays, got the text {}", data.name));
  Dataset part = data;
  part.inputs = select_rows(data.inputs, rows);
  part.targets = select_rows(data.targets, rows);
  if (data.rows_of_table) {
    auto& of_example = part.rows_of_table->of_example;
    of_example.clear();
    for (const std::int32_t row : rows)
      of_example.push_back(data.rows_of_table->of_example[static_cast<std::size_t>(row)]);
  }
  return part;
}

}  // namespace limpid
