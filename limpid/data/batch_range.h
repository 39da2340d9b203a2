// batches: the batches of one epoch of a data set, as a range. Depends on batches.h and dataset.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "limpid/data/batches.h"
#include "limpid/data/dataset.h"

namespace limpid {

// Inputs and targets of a batch, each [size, ...].
struct Batch {
  Tensor inputs;
  Tensor targets;
};

// for (const auto& [x, y] : batches(data, {.size = 64}, Key{1}, epoch))
//
// Each batch is gathered when the iterator is dereferenced. The data must outlive the range.
class BatchRange {
 public:
  BatchRange(const Dataset& data, Batches rows) : data_(data), rows_(std::move(rows)) {}

  // Iterates over the batches.
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

  // The number of batches, and batch i. Throws kInvalidArgument outside of [0, size()).
  std::int64_t size() const { return rows_.size(); }
  Batch operator[](std::int64_t i) const;

 private:
  const Dataset& data_;
  Batches rows_;
};

// The batches of an epoch. Their order depends only on the key and the epoch. Throws what Batches
// throws, and kUnsupported for the windows of a text.
BatchRange batches(const Dataset& data, const BatchOptions& options, Key key, std::int64_t epoch);
BatchRange batches(Dataset&& data, const BatchOptions& options, Key key,
                   std::int64_t epoch) = delete;

}  // namespace limpid
