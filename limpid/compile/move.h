// Data movement without arithmetic: permutations, slices, padding, concatenations, rows by index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limpid/function/op.h"
#include "limpid/kernels/kernels.h"

namespace limpid::detail {

// A strided copy between two memory blocks. All distances are in bytes.
struct Walk {
  struct Axis {
    std::size_t count;
    std::size_t from_step, to_step;
  };
  std::size_t from_first = 0, to_first = 0;
  std::size_t run = 0;     // bytes that are contiguous in both
  std::vector<Axis> axes;  // the outermost first; one with count 0 if there is nothing to move

  // The number of lines, the unit of work for threads: all axes but the last.
  std::size_t lines() const;
  std::size_t bytes() const;
};

// The copies of a call: of transpose, of slice, of pad, and of input i of concatenate. The first
// `rows` axes are left out: the copy of one row of them.
Walk walk_of_permutation(const Call& call);
Walk walk_of_slice(const Call& call, std::size_t rows = 0);
Walk walk_of_pad(const Call& call, std::size_t rows = 0);
Walk walk_of_part(const Call& call, std::size_t i, std::size_t rows = 0);
// What a pad fills: its borders, or all of its result if it fills between elements as well.
std::vector<Walk> walks_of_filling(const Call& call, std::size_t rows = 0);

// The number of first axes that a call of slice, pad or concatenate copies as they are.
std::size_t axes_kept(const Call& call);

// Copies these lines.
void move(const Walk& walk, const std::byte* from, std::byte* to, kernels::Range lines);
// Fills these lines with an element of 4 or 8 bytes, the first of `pattern`.
void fill(const Walk& walk, std::uint64_t pattern, std::size_t element, std::byte* to,
          kernels::Range lines);

// Sizes of gather and scatter_add.
struct RowNumbers {
  std::size_t batches, numbers, rows;  // indices and table rows of each batch
  bool wide;                           // indices are i64; else i32
  bool either_end = false;             // negative indices count from the end
};

// out[i] = the row (of `row` bytes) with index numbers[i], or the bytes of `none` again and again
// if out of range; for the i in `range`, counted over all batches.
void gather(const RowNumbers& n, const void* numbers, std::size_t row, const std::byte* table,
            std::uint64_t none, std::byte* out, kernels::Range range);

// Starts from zeros and adds row i of `updates` to row numbers[i], in the order of i. Rows have
// `width` columns; works on those in `columns`.
void scatter_add(const RowNumbers& n, const void* numbers, std::size_t width, const float* updates,
                 float* out, kernels::Range columns);

}  // namespace limpid::detail
