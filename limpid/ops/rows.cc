#include "limpid/ops/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"

namespace limpid {

void require_index(const Call& call, std::size_t input) {
  const Dtype d = call.inputs[input].dtype;
  if (d != Dtype::kI32 && d != Dtype::kI64) throw_dtype(call, input, "i32 or i64");
}

std::size_t batch_of(const Call& call) {
  const std::int64_t batch = call.attributes.integer("batch");
  const Shape& a = call.inputs[0].shape;
  const Shape& b = call.inputs[1].shape;
  const auto common = static_cast<std::size_t>(batch);
  if (batch < 0 || common > a.rank() || common > b.rank() ||
      !std::equal(a.begin(), a.begin() + batch, b.begin()))
    throw Error(ErrorCode::kShape,
                fmt::format("{}: inputs {} and {} do not share {} leading dimensions", where(call),
                            to_string(call.inputs[0]), to_string(call.inputs[1]), batch));
  return common;
}

Value from_either_end(const Value& indices, std::int64_t size) {
  const Value zero = number_like(indices, 0);
  return select(indices < zero, indices + number_like(indices, static_cast<double>(size)), indices);
}

Shape joined(const Call& call, std::initializer_list<std::span<const std::int64_t>> parts) {
  std::vector<std::int64_t> dims;
  for (const auto& part : parts) dims.insert(dims.end(), part.begin(), part.end());
  if (dims.size() > Shape::kMaxRank)
    throw Error(ErrorCode::kShape, fmt::format("{}: a result of rank {}, at most {} is supported",
                                               where(call), dims.size(), Shape::kMaxRank));
  return Shape(dims);
}

Rows rows_of(const Shape& indices, const Shape& table, std::size_t batch) {
  const auto count = [](std::span<const std::int64_t> dims) {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  };
  return {count(indices.dims().first(batch)), count(indices.dims().subspan(batch)), table[batch],
          static_cast<std::size_t>(count(table.dims().subspan(batch + 1)))};
}

CppCall rows_cpp(const Call& call, std::string function, const Shape& indices, const Shape& table) {
  const Rows r = rows_of(indices, table, batch_of(call));
  return {std::move(function), {r.batches, r.numbers, r.rows, static_cast<std::int64_t>(r.width)}};
}

}  // namespace limpid
