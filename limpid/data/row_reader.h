// RowReader: reads the rows of a table one by one. Depends on core.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid {

// The rows of a tensor [N, ...] of T. If they are deferred (Tensor::deferred_rows), rows that are
// read in order are computed in blocks, so that a table of any size takes little memory.
template <class T>
class RowReader {
 public:
  // Throws kDtype if the elements are not T.
  explicit RowReader(const Tensor& table)
      : table_(table),
        deferred_(table.has_deferred_rows()),
        rows_(table.shape()[0]),
        width_(rows_ == 0 ? 0 : static_cast<std::size_t>(table.elements() / rows_)) {
    all_ = (deferred_ ? table.rows(0, 0) : table).template values<T>();
  }

  std::int64_t size() const { return rows_; }
  // The number of elements of a row.
  std::size_t width() const { return width_; }

  // Row `row`, in [0, size()); valid until the next call.
  std::span<const T> operator[](std::int64_t row) {
    if (!deferred_) return all_.subspan(static_cast<std::size_t>(row) * width_, width_);
    if (row < first_ || row >= first_ + count_) read(row);
    return std::span(block_).subspan(static_cast<std::size_t>(row - first_) * width_, width_);
  }

 private:
  // A block after the one before, else `row` alone.
  void read(std::int64_t row) {
    constexpr std::size_t kElements = 16384;
    const auto most = static_cast<std::int64_t>(std::max<std::size_t>(1, kElements / width_));
    const bool in_order = row == first_ + count_;
    first_ = row;
    count_ = in_order ? std::min(most, rows_ - row) : 1;
    block_.resize(static_cast<std::size_t>(count_) * width_);
    table_.read_rows(first_, count_, std::as_writable_bytes(std::span(block_)));
  }

  Tensor table_;
  bool deferred_;
  std::int64_t rows_;
  std::size_t width_;
  std::span<const T> all_;  // unless deferred
  std::vector<T> block_;    // rows [first_, first_ + count_)
  std::int64_t first_ = 0, count_ = 0;
};

}  // namespace limpid
