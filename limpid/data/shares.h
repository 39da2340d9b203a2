// How one table is cut into parts for training, validation and test. Depends on nothing.
#pragma once

#include <cstdint>

namespace limpid {

// How much of the data each part gets, in relation to the sum of the three.
struct Shares {
  std::int64_t train = 80;
  std::int64_t validation = 10;
  std::int64_t test = 10;

  bool operator==(const Shares&) const = default;
};
// Of each: far below where the product with a number of rows would overflow.
inline constexpr std::int64_t kMostShare = 1'000'000;

// What a model remembers of the cut: enough to know the table again, and to cut it again.
struct SplitRecord {
  Shares shares;
  std::uint64_t seed = 0;
  std::int64_t rows = 0;   // of the table
  std::uint64_t hash = 0;  // of its parts, as hash_of_parts() computes it

  bool operator==(const SplitRecord&) const = default;
};

}  // namespace limpid
