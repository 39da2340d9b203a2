// The order in which training sees its examples: permutations, batches of rows, and gathering them.
// Leans on core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/tensor.h"

namespace limpid {

// A permutation of 0 to n-1 by Fisher and Yates: for step s = 0, 1, ..., n-2 the last free place
// n-1-s is swapped with place key.below(n - s, s), so step s uses word s of the key. Throws
// kInvalidArgument unless 0 <= n < 2^31.
std::vector<std::int32_t> permutation(Key key, std::int64_t n);

// Rows of a tensor [N, ...] of any dtype, in the order of `rows`, as [rows.size(), ...]. A row may
// come twice. Throws kInvalidArgument for a row outside of [0, N), kShape for a scalar.
Tensor gather_rows(const Tensor& source, std::span<const std::int32_t> rows);

// The same into memory of the caller's, which must have exactly the size of the rows
// (kInvalidArgument); allocates nothing.
void gather_rows(const Tensor& source, std::span<const std::int32_t> rows,
                 std::span<std::byte> out);

// How rows are cut into batches.
struct BatchOptions {
  std::int64_t size = 64;    // rows of a batch
  bool shuffle = true;       // false: the rows in their order, in every epoch
  bool keep_partial = true;  // keep the last batch where it has fewer rows
};

// The batches of one epoch: which rows, in which order. With shuffle the order is
// permutation(key.fold_in(epoch), examples), so that it depends on no earlier epoch.
class Batches {
 public:
  // Throws kInvalidArgument unless 0 <= examples < 2^31, options.size > 0 and epoch >= 0.
  Batches(std::int64_t examples, const BatchOptions& options, Key key, std::int64_t epoch);

  // How many batches there are.
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
