// BatchPlan: splits the rows of an epoch into updates, shards and micro-batches
// (docs/arithmetic.md, "Shards").
#pragma once

#include <algorithm>
#include <cstdint>

namespace limpid::train {

// Rows [begin, end) of an epoch's order.
struct RowRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
};

struct BatchPlan {
  std::int64_t rows = 0;        // of the training set
  std::int64_t batch = 1;       // rows of a micro-batch, over all shards
  std::int64_t accumulate = 1;  // micro-batches per update
  std::int64_t shards = 1;

  // a / b, rounded up, of any a >= 0 and b > 0.
  static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

  std::int64_t batches_an_epoch() const { return ceil_div(rows, batch); }
  std::int64_t updates_an_epoch() const { return ceil_div(batches_an_epoch(), accumulate); }
  // The rows of update `u` of an epoch. The last update may have fewer rows. A batch may be larger
  // than any data.
  RowRange update(std::int64_t u) const {
    const std::int64_t most = batch > rows / accumulate ? rows : accumulate * batch;
    return {u * most, std::min((u + 1) * most, rows)};
  }
  // The rows of shard `s` of an update. Sizes of shards differ by at most one row; with fewer rows
  // than shards some are empty, but never the first.
  RowRange shard(RowRange update, std::int64_t s) const {
    return {update.begin + ceil_div(s * update.size(), shards),
            update.begin + ceil_div((s + 1) * update.size(), shards)};
  }
  // The micro-batches of a shard. The last one may have fewer rows.
  std::int64_t most_rows() const { return std::min(ceil_div(batch, shards), rows); }
  std::int64_t micro_batches(RowRange shard) const { return ceil_div(shard.size(), most_rows()); }
  RowRange micro_batch(RowRange shard, std::int64_t m) const {
    return {shard.begin + m * most_rows(),
            std::min(shard.begin + (m + 1) * most_rows(), shard.end)};
  }
};

}  // namespace limpid::train
