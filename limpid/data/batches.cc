#include "limpid/data/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "limpid/core/error.h"

namespace limpid {
namespace {

[[noreturn]] void refuse_batches(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

std::vector<std::int32_t> in_order(std::int64_t n) {
  if (n < 0 || n > std::numeric_limits<std::int32_t>::max())
    refuse_batches(fmt::format("permutation: expected 0 to 2^31 - 1 rows, got {}", n));
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// The shape of `count` rows of `source`.
Shape rows_shape(const Tensor& source, std::size_t count) {
  if (source.shape().rank() == 0)
    throw Error(ErrorCode::kShape, "gather_rows: a scalar has no rows");
  return source.shape().replace(0, static_cast<std::int64_t>(count));
}

}  // namespace

std::vector<std::int32_t> permutation(Key key, std::int64_t n) {
  std::vector<std::int32_t> rows = in_order(n);
  const std::size_t count = rows.size();
  for (std::size_t step = 0; step + 1 < count; ++step)
    std::swap(rows[count - 1 - step], rows[key.below(count - step, step)]);
  return rows;
}

Tensor gather_rows(const Tensor& source, std::span<const std::int32_t> rows) {
  const Type type{source.dtype(), rows_shape(source, rows.size())};
  return Tensor::generate_bytes(type,
                                [&](std::span<std::byte> out) { gather_rows(source, rows, out); });
}

void gather_rows(const Tensor& source, std::span<const std::int32_t> rows,
                 std::span<std::byte> out) {
  const std::size_t wanted = Type{source.dtype(), rows_shape(source, rows.size())}.bytes();
  if (out.size() != wanted)
    refuse_batches(fmt::format("gather_rows: {} rows of {} need {} bytes, got room for {}",
                               rows.size(), to_string(source.type()), wanted, out.size()));
  const std::int64_t limit = source.shape()[0];
  const std::size_t stride = rows.empty() ? 0 : wanted / rows.size();
  const std::byte* const all = source.has_deferred_rows() ? nullptr : source.bytes().data();
  std::byte* place = out.data();
  for (const std::int32_t row : rows) {
    if (row < 0 || row >= limit)
      refuse_batches(
          fmt::format("gather_rows: row {} is outside of {}", row, to_string(source.type())));
    if (stride != 0 && all)
      std::memcpy(place, all + static_cast<std::size_t>(row) * stride, stride);
    else
      source.read_rows(row, 1, {place, stride});
    place += stride;
  }
}

Batches::Batches(std::int64_t examples, const BatchOptions& options, Key key, std::int64_t epoch)
    : rows_(options.size) {
  if (options.size <= 0)
    refuse_batches(fmt::format("batches: expected a size of at least 1, got {}", options.size));
  if (epoch < 0) refuse_batches(fmt::format("batches: epoch {} is negative", epoch));
  order_ = options.shuffle ? permutation(key.fold_in(static_cast<std::uint64_t>(epoch)), examples)
                           : in_order(examples);
  count_ = examples / rows_ + (options.keep_partial && examples % rows_ != 0 ? 1 : 0);
}

std::span<const std::int32_t> Batches::operator[](std::int64_t i) const {
  if (i < 0 || i >= count_) refuse_batches(fmt::format("batches: batch {} of {}", i, count_));
  const auto all = static_cast<std::int64_t>(order_.size());
  const std::int64_t first = i * rows_;
  return std::span(order_).subspan(static_cast<std::size_t>(first),
                                   static_cast<std::size_t>(std::min(rows_, all - first)));
}

}  // namespace limpid
