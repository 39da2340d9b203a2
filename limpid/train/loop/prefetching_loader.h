// PrefetchingLoader: gathers the micro-batches of a run one after another, optionally in advance by
// a thread (prefetching). Depends on data.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <condition_variable>

#include "limpid/data/augment.h"
#include "limpid/data/batches.h"
#include "limpid/data/dataset.h"
#include "limpid/train/loop/batch_plan.h"

namespace limpid::train {

class PrefetchingLoader {
 public:
  // Rows of an epoch's order.
  struct Piece {
    std::int64_t epoch = 0;
    RowRange rows;
  };
  // Returns the next piece at each call; nullopt after the last one.
  using Pieces = std::function<std::optional<Piece>()>;

  // Options of a PrefetchingLoader.
  struct Options {
    std::int64_t most_rows = 128;  // of a piece
    Key key{0};                    // of the shuffling: epoch e uses permutation(key.fold_in(e), N)
    Key offset_key{0};             // of the offset at which an epoch of a text starts
    bool ahead = false;  // a thread gathers the next piece while the current one is in use
    // Of the inputs: row r of the data is drawn in epoch e by augment_key.fold_in(e).fold_in(r).
    Augmentation augmentation = {};
    Key augment_key{0};
    std::int64_t classes = 0;  // if that mixes examples: targets are f32 [classes], probabilities
  };
  // `data` must outlive the loader. Throws what Batches and RowAugmenter throw.
  PrefetchingLoader(const Dataset& data, const Options& options, Pieces pieces);
  PrefetchingLoader(const Dataset&& data, const Options& options, Pieces pieces) = delete;
  ~PrefetchingLoader();
  PrefetchingLoader(const PrefetchingLoader&) = delete;
  PrefetchingLoader& operator=(const PrefetchingLoader&) = delete;

  // Rows of inputs and targets, in the loader's memory.
  struct Batch {
    const std::byte* x = nullptr;
    const std::byte* y = nullptr;
    std::int64_t rows = 0;
  };
  // The next piece; valid until the next call. Allocates only the permutation of a new epoch.
  // Throws kInvalidArgument after the last piece.
  Batch next();

 private:
  struct Slot {
    std::shared_ptr<std::byte> x, y;
    std::int64_t rows = 0;
  };

  void begin_epoch(std::int64_t epoch);
  bool fill(Slot& slot);
  void augment(std::span<const std::int32_t> rows, Slot& slot);
  void fill_all();
  [[noreturn]] static void refuse_more();

  const Dataset& data_;
  Options options_;
  Pieces pieces_;
  std::int64_t next_ = 0;  // index of the piece that next() returns
  std::unique_ptr<Batches> order_;
  std::int64_t order_of_ = -1;  // the epoch of order_ and offset_
  std::int64_t offset_ = 0;
  std::optional<RowAugmenter> augmenter_;
  Slot slots_[2];  // piece p is in slot p % 2

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t filled_ = 0;  // pieces before this one are gathered
  bool stop_ = false;
  bool no_more_ = false;  // there are no more pieces to gather
  std::exception_ptr error_;
  std::thread thread_;  // uses pieces_, order_, augmenter_ and the slot that is not in use
};

}  // namespace limpid::train
