// Cutting one data set into parts for training, validation and test. Leans on dataset.h, shares.h
// and batches.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "limpid/compile/thread_pool.h"
#include "limpid/core/key.h"
#include "limpid/data/dataset.h"
#include "limpid/data/shares.h"

namespace limpid {

// "80/10/10" (training, validation, test) or "90/10" (no test). Throws kParse for other text,
// kInvalidArgument for shares that split_rows would refuse.
Shares parse_shares(std::string_view text);

// Of N rows, validation and test each get floor(N * share / sum of shares), but at least one where
// the share is not 0; training gets the rest. permutation(key, N) says who gets which: its first
// entries are the rows of training, those behind them validation's, the last ones the test's.
// Inside a part rows keep their order. Throws kInvalidArgument where a share is negative or above
// 1,000,000, where training has none, or where no row is left for training.
Split split_rows(const Dataset& all, const Shares& shares, Key key);

// Takes the validation part out of the training part by the same rule; the test part stays what it
// is. With a validation share of 0 nothing changes. Throws what split_rows throws, and
// kInvalidArgument unless the test share is 0 and the data has no validation part yet.
Split with_validation(Split data, const Shares& shares, Key key);

// Of the parts of a table; a test part that did not come from it, as its share is 0, is left out.
SplitRecord record_of(Split split, const Shares& shares, std::uint64_t seed);

// Of all examples of all parts; their tensors are shared among the threads of a pool.
std::uint64_t hash_of_parts(const Split& split, ThreadPool* pool = nullptr);

}  // namespace limpid
