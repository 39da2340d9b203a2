// Rows by index: code shared by gather, the scatters and update_rows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

// Throws kDtype unless the input is i32 or i64.
void require_index(const Call& call, std::size_t input);

// The attribute `batch`: the number of leading dimensions that inputs 0 and 1 share. Throws kShape
// if they differ.
std::size_t batch_of(const Call& call);
inline Attributes batch_attribute(std::int64_t batch) { return {{"batch", batch}}; }

// The concatenated dimensions of all parts. Throws kShape if there are too many.
Shape joined(const Call& call, std::initializer_list<std::span<const std::int64_t>> parts);

// Indices of which the negative ones count from the end of an axis of this size.
Value from_either_end(const Value& indices, std::int64_t size);

// Sizes of a loop over rows by index.
struct Rows {
  std::int64_t batches, numbers, rows;  // indices and table rows of each batch
  std::size_t width;                    // elements per row
};
Rows rows_of(const Shape& indices, const Shape& table, std::size_t batch);

// The emitted call of a function in limpid/emit/parts that loops over rows by index.
CppCall rows_cpp(const Call& call, std::string function, const Shape& indices, const Shape& table);

// Calls visit(i, row) for every index: its position i, and the row of the table, or -1 if out of
// range.
template <class Visit>
void for_each_row(const Type& indices, const void* numbers, const Rows& r, const Visit& visit) {
  for (std::int64_t i = 0; i < r.batches * r.numbers; ++i) {
    const std::int64_t n = indices.dtype == Dtype::kI32
                               ? static_cast<const std::int32_t*>(numbers)[i]
                               : static_cast<const std::int64_t*>(numbers)[i];
    visit(static_cast<std::size_t>(i), n < 0 || n >= r.rows ? -1 : i / r.numbers * r.rows + n);
  }
}

// Writes rows[outer, count, inner] into cache[outer, places, inner] from `position` on; rows
// outside of the cache are ignored.
template <class T>
void write_rows(std::size_t outer, std::size_t count, std::size_t places, std::size_t inner,
                std::int64_t position, const T* rows, T* cache) {
  // Single elements lie far apart, and a CPU fetches the lines for its stores nearly one by one: 14
  // us for 768 of them from memory, 4 us if all are prefetched.
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
