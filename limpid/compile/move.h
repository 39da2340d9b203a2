// Elements that are moved and not computed with: permutations, parts, joinings, rows by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limpid/function/op.h"
#include "limpid/kernels/kernels.h"

namespace limpid::detail {

// A walk through two places in memory at once. Distances are bytes.
struct Walk {
  struct Axis {
    std::size_t count;
    std::size_t from_step, to_step;
  };
  std::size_t from_first = 0, to_first = 0;
  std::size_t run = 0;     // bytes side by side in both
  std::vector<Axis> axes;  // the outermost first; of no run where there is nothing to move

  // Runs that it takes one by one: threads share those of all axes but the last.
  std::size_t lines() const;
  std::size_t bytes() const;
};

// What a call copies: transpose, slice, and input i of concatenate.
Walk walk_of_permutation(const Call& call);
Walk walk_of_slice(const Call& call);
Walk walk_of_part(const Call& call, std::size_t i);

// Copies the lines in the range.
void move(const Walk& walk, const std::byte* from, std::byte* to, kernels::Range lines);

// Rows by number, as gather and scatter_add choose them.
struct RowNumbers {
  std::size_t batches, numbers, rows;  // numbers and rows of each batch
  bool wide;                           // i64, not i32
};

// out[i] = the row of `row` bytes that number i means, zeros where it means none; for the numbers
// of all batches that are in the range.
void gather(const RowNumbers& n, const void* numbers, std::size_t row, const std::byte* table,
            std::byte* out, kernels::Range range);

// Zeros, to which update i is added where number i says, in their order; columns in the range, of
// `width`.
void scatter_add(const RowNumbers& n, const void* numbers, std::size_t width, const float* updates,
                 float* out, kernels::Range columns);

}  // namespace limpid::detail
