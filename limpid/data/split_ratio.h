// How a table is split into training, validation and test set.
#pragma once

#include <cstdint>

namespace limpid {

// The share of each set, relative to the sum of the three; or a fold of a cross-validation: the
// test set is part `fold`, counted from 1, of `folds` equal parts, and the other shares divide the
// rest.
struct SplitRatio {
  std::int64_t train = 80;
  std::int64_t validation = 10;
  std::int64_t test = 10;
  std::int64_t fold = 0, folds = 0;

  bool operator==(const SplitRatio&) const = default;
};
// The maximum of SplitRatio::folds.
inline constexpr std::int64_t kMostFolds = 1'000;
// The maximum share, so that the product with a number of rows cannot overflow.
inline constexpr std::int64_t kMostShare = 1'000'000;

// What a model stores about the split: enough to recognise the table and to split it again.
struct SplitRecord {
  SplitRatio shares;
  std::uint64_t seed = 0;
  std::int64_t rows = 0;   // of the table
  std::uint64_t hash = 0;  // of its sets, by hash_of_parts()

  bool operator==(const SplitRecord&) const = default;
};

}  // namespace limpid
