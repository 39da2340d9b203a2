// Shuffling and batching: permutations, batches of rows, and gathering rows. Depends on core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/tensor.h"

namespace limpid {

// A Fisher-Yates permutation of 0 to n-1: step s = 0, 1, ..., n-2 swaps element n-1-s with element
// key.below(n - s, s), so step s uses word s of the key. Throws kInvalidArgument unless 0 <= n <
// 2^31.
std::vector<std::int32_t> permutation(Key key, std::int64_t n);

// The given rows of a tensor [N, ...] of any dtype, as [rows.size(), ...]. Rows may repeat. Throws
// kInvalidArgument for a row outside of [0, N), kShape for a scalar.
Tensor gather_rows(const Tensor& source, std::span<const std::int32_t> rows);

// The same into `out`; allocates nothing. Throws kInvalidArgument unless `out` has exactly the size
// of the rows.
void gather_rows(const Tensor& source, std::span<const std::int32_t> rows,
                 std::span<std::byte> out);

// How to split rows into batches.
struct BatchOptions {
  std::int64_t size = 64;    // rows per batch
  bool shuffle = true;       // false: keep the order of the rows
  bool keep_partial = true;  // keep the last batch if it has fewer rows
};

// The batches of one epoch, as rows of a data set. If shuffled, the order is
// permutation(key.fold_in(epoch), examples), so it does not depend on earlier epochs.
class Batches {
 public:
  // Throws kInvalidArgument unless 0 <= examples < 2^31, options.size > 0 and epoch >= 0.
  Batches(std::int64_t examples, const BatchOptions& options, Key key, std::int64_t epoch);

  // The number of batches.
  std::int64_t size() const { return count_; }
  // The rows of batch i; valid as long as this object. Throws kInvalidArgument outside of [0,
  // size()).
  std::span<const std::int32_t> operator[](std::int64_t i) const;

 private:
  std::vector<std::int32_t> order_;
  std::int64_t rows_;
  std::int64_t count_;
};

}  // namespace limpid
