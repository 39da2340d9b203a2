// batches: the batches of one epoch of a data set, as a range. Depends on batches.h and dataset.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "limpid/data/batches.h"
#include "limpid/data/dataset.h"

namespace limpid {

// Examples and their targets: [size, ...] each.
struct Batch {
  Tensor inputs;
  Tensor targets;
};

// for (const auto& [x, y] : batches(data, {.size = 64}, Key{1}, epoch))
//
// Each batch is gathered when it is reached; the data must outlive the range.
class BatchRange {
 public:
  BatchRange(const Dataset& data, Batches rows) : data_(data), rows_(std::move(rows)) {}

  // From batch to batch.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = Batch;

    // An input iterator over the batches from i on.
    Iterator(const BatchRange& range, std::int64_t i) : range_(&range), i_(i) {}
    Batch operator*() const { return (*range_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    const BatchRange* range_;
    std::int64_t i_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  // How many batches there are, and one of them. Throws kInvalidArgument outside of [0, size()).
  std::int64_t size() const { return rows_.size(); }
  Batch operator[](std::int64_t i) const;

 private:
  const Dataset& data_;
  Batches rows_;
};

// In an order that depends on the key and the epoch alone: see Batches, and what it throws.
// kUnsupported for the windows of a text.
BatchRange batches(const Dataset& data, const BatchOptions& options, Key key, std::int64_t epoch);
BatchRange batches(Dataset&& data, const BatchOptions& options, Key key,
                   std::int64_t epoch) = delete;

}  // namespace limpid
