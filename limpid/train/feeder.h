// Feeder: the batches of a run one after the other, each gathered into memory of its own; ahead of
// need, where a thread may do so. Leans on data.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include <condition_variable>

#include "limpid/data/batches.h"
#include "limpid/data/dataset.h"

namespace limpid::train {

class Feeder {
 public:
  // Which batches there are.
  struct Options {
    std::int64_t batch = 128;  // rows; the last batch of an epoch may have fewer
    std::int64_t epochs = 1;   // no batch lies behind the last one
    Key key{0};                // of the order: epoch e has permutation(key.fold_in(e), N)
    Key offset_key{0};         // of the windows of a text: where an epoch begins
    bool ahead = false;        // a thread gathers the next batch while one is being used
  };
  // Begins with batch `first`, counted over all epochs. `data` must outlive the feeder. Throws what
  // Batches throws.
  Feeder(const Dataset& data, const Options& options, std::int64_t first);
  Feeder(const Dataset&& data, const Options& options, std::int64_t first) = delete;
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // Rows of inputs and targets, in memory of the feeder's.
  struct Batch {
    const std::byte* x = nullptr;
    const std::byte* y = nullptr;
    std::int64_t rows = 0;
  };
  // The next batch; good until the next call. Allocates nothing but the order of a new epoch.
  // Throws kInvalidArgument behind the last one.
  Batch next();

 private:
  struct Slot {
    std::shared_ptr<std::byte> x, y;
    std::int64_t rows = 0;
  };

  void begin_epoch(std::int64_t epoch);
  void fill(Slot& slot, std::int64_t batch);
  void fill_all();

  const Dataset& data_;
  Options options_;
  std::int64_t batches_an_epoch_;
  std::int64_t next_;  // the batch that next() gives
  std::unique_ptr<Batches> order_;
  std::int64_t order_of_ = -1;  // the epoch of order_ and offset_
  std::int64_t offset_ = 0;
  Slot slots_[2];  // batch b is in slot b % 2

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t filled_;  // batches before this one are gathered
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // uses order_ and the slot that is not in use
};

}  // namespace limpid::train
