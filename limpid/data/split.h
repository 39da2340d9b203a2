// Splits a data set into training, validation and test set. Depends on dataset.h, split_ratio.h and
// batches.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/core/key.h"
#include "limpid/data/dataset.h"
#include "limpid/data/split_ratio.h"

namespace limpid {

// Parses "80/10/10" (training, validation, test), "90/10" (training, validation), or "fold:2/5",
// the second of five folds, of whose other rows a tenth is the validation set. Throws kParse for
// other text, kInvalidArgument for shares that split_rows refuses.
SplitRatio parse_split_ratio(std::string_view text);

// Of N rows, validation and test set each get floor(N * share / sum of shares), but at least one if
// the share is not 0; the training set gets the rest. permutation(key, N) assigns the rows: its
// first entries are the training set, then the validation set, then the test set. Of a fold, the
// test set is entries floor((fold - 1) N / folds) to floor(fold N / folds) of it, and the others
// are split so. Within a set, rows keep their order. Throws kInvalidArgument if a share is negative
// or above 1,000,000, if the training share is 0, if no row is left for training or for a fold, or
// unless 1 <= fold <= folds and 2 <= folds <= kMostFolds.
Split split_rows(const Dataset& all, const SplitRatio& shares, Key key);

// Moves rows from the training set to the validation set by the same rule; the test set stays. With
// a validation share of 0 nothing changes. Throws what split_rows throws, and kInvalidArgument
// unless the test share is 0 and the validation set is empty.
Split with_validation(Split data, const SplitRatio& shares, Key key);

// The record of a split of a table. A test set with share 0 did not come from the table and is left
// out.
SplitRecord record_of(Split split, const SplitRatio& shares, std::uint64_t seed);

// The hashes of the examples of a set, inputs and targets: the 64 smallest ones, ascending. As they
// do not depend on the order, they tell how many examples of the set are in another one.
std::vector<std::uint64_t> drawn_examples(const Dataset& data);

// The share of the drawn examples that `data` has, from 0 to 1. It is 0 for fewer than three of
// them, as a few equal examples may be by chance.
double share_of_drawn(const std::vector<std::uint64_t>& drawn, const Dataset& data);

// A hash of all examples of all sets. The pool, if given, hashes tensors in parallel.
std::uint64_t hash_of_parts(const Split& split, ThreadPool* pool = nullptr);

}  // namespace limpid
