#include "limpid/train/feeder.h"

#include <fmt/format.h>

#include "limpid/core/error.h"

namespace limpid::train {
namespace {

// The bytes of one row.
std::size_t stride_of(const Tensor& rows) {
  const std::int64_t count = rows.shape()[0];
  return count == 0 ? 0 : rows.bytes().size() / static_cast<std::size_t>(count);
}

std::shared_ptr<std::byte> room_for(const Tensor& source, std::int64_t rows) {
  return allocate_aligned(stride_of(source) * static_cast<std::size_t>(rows));
}

void gather(const Tensor& source, std::span<const std::int32_t> rows, std::byte* out) {
  gather_rows(source, rows, {out, stride_of(source) * rows.size()});
}

}  // namespace

Feeder::Feeder(const Dataset& data, const Options& options, std::int64_t first)
    : data_(data),
      options_(options),
      batches_an_epoch_((data.size() + options.batch - 1) / options.batch),
      next_(first),
      filled_(first) {
  for (Slot& slot : slots_) {
    const std::int64_t rows = std::min(options.batch, data.size());
    slot = {room_for(data.inputs, rows), room_for(data.targets, rows), 0};
  }
  if (options.ahead) thread_ = std::thread([this] { fill_all(); });
}

Feeder::~Feeder() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Feeder::Batch Feeder::next() {
  if (next_ >= batches_an_epoch_ * options_.epochs)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("feeder: there are {} batches", batches_an_epoch_ * options_.epochs));
  const std::int64_t batch = next_;
  Slot& slot = slots_[batch % 2];
  if (options_.ahead) {
    std::unique_lock lock(mutex_);
    next_ = batch + 1;
    changed_.notify_all();
    changed_.wait(lock, [&] { return filled_ > batch || error_; });
    if (error_) std::rethrow_exception(error_);
  } else {
    next_ = batch + 1;
    fill(slot, batch);
  }
  return {slot.x.get(), slot.y.get(), slot.rows};
}

void Feeder::fill(Slot& slot, std::int64_t batch) {
  const std::int64_t epoch = batch / batches_an_epoch_;
  if (order_of_ != epoch) {
    order_ = std::make_unique<Batches>(data_.size(), BatchOptions{.size = options_.batch},
                                       options_.key, epoch);
    order_of_ = epoch;
  }
  const std::span<const std::int32_t> rows = (*order_)[batch % batches_an_epoch_];
  gather(data_.inputs, rows, slot.x.get());
  gather(data_.targets, rows, slot.y.get());
  slot.rows = static_cast<std::int64_t>(rows.size());
}

// The thread: batch b is gathered while batch b - 1 is in use, and not before.
void Feeder::fill_all() {
  try {
    for (std::int64_t b = filled_; b < batches_an_epoch_ * options_.epochs; ++b) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || b <= next_; });
        if (stop_) return;
      }
      fill(slots_[b % 2], b);
      {
        const std::lock_guard lock(mutex_);
        filled_ = b + 1;
      }
      changed_.notify_all();
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
    changed_.notify_all();
  }
}

}  // namespace limpid::train
