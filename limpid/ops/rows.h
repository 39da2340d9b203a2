// Rows by number: what gather, the scatters and update_rows share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "limpid/function/op.h"

namespace limpid {

// Throws kDtype unless the input is i32 or i64.
void require_index(const Call& call, std::size_t input);

// The attribute `batch`: the number of leading dimensions that inputs 0 and 1 have in common.
// Throws kShape where they do not.
std::size_t batch_of(const Call& call);
inline Attributes batch_attribute(std::int64_t batch) { return {{"batch", batch}}; }

// The dimensions of all parts; throws kShape where they are too many.
Shape joined(const Call& call, std::initializer_list<std::span<const std::int64_t>> parts);

// Sizes of a walk over rows by number.
struct Rows {
  std::int64_t batches, numbers, rows;  // numbers and rows of each batch
  std::size_t width;                    // elements of a row
};
Rows rows_of(const Shape& indices, const Shape& table, std::size_t batch);

// A function of limpid/emit/parts that walks so.
CppCall rows_cpp(const Call& call, std::string function, const Shape& indices, const Shape& table);

// Calls visit(i, row) for every number: its place, and the row of the table that it means, or -1.
template <class Visit>
void for_each_row(const Type& indices, const void* numbers, const Rows& r, const Visit& visit) {
  for (std::int64_t i = 0; i < r.batches * r.numbers; ++i) {
    const std::int64_t n = indices.dtype == Dtype::kI32
                               ? static_cast<const std::int32_t*>(numbers)[i]
                               : static_cast<const std::int64_t*>(numbers)[i];
    visit(static_cast<std::size_t>(i), n < 0 || n >= r.rows ? -1 : i / r.numbers * r.rows + n);
  }
}

// Writes rows[outer, count, inner] over cache[outer, places, inner] from place `position` on; those
// without a place are left out.
template <class T>
void write_rows(std::size_t outer, std::size_t count, std::size_t places, std::size_t inner,
                std::int64_t position, const T* rows, T* cache) {
  // Single elements lie far apart, and what a CPU stores it fetches nearly one by one: 14 us for
  // 768 of them in memory, 4 us where all are asked for before.
  if (inner == 1 && position >= 0 && static_cast<std::uint64_t>(position) < places)
    for (std::size_t o = 0; o < outer; ++o) __builtin_prefetch(cache + o * places + position, 0, 2);
  for (std::size_t o = 0; o < outer; ++o, cache += places * inner)
    for (std::size_t i = 0; i < count; ++i, rows += inner) {
      const std::int64_t place = position + static_cast<std::int64_t>(i);
      if (place < 0 || static_cast<std::uint64_t>(place) >= places) continue;
      T* const to = cache + static_cast<std::size_t>(place) * inner;
      for (std::size_t j = 0; j < inner; ++j) to[j] = rows[j];
    }
}

}  // namespace limpid
