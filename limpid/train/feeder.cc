#include "limpid/train/feeder.h"

#include <fmt/format.h>

#include "limpid/core/detail/blocked_signals.h"
#include "limpid/core/error.h"

namespace limpid::train {
namespace {

std::shared_ptr<std::byte> room_for(const Type& one, std::int64_t rows) {
  return allocate_aligned(one.bytes() * static_cast<std::size_t>(rows));
}

void gather(const Tensor& source, std::span<const std::int32_t> rows, std::byte* out) {
  const auto count = static_cast<std::size_t>(source.shape()[0]);
  gather_rows(source, rows, {out, source.bytes().size() / count * rows.size()});
}

// Rows of windows that begin at `offset`: what the call writes.
template <class Write>
void gather(const Type& one, std::span<const std::int32_t> rows, std::byte* out,
            const Write& write) {
  auto* place = reinterpret_cast<std::int32_t*>(out);
  const auto stride = static_cast<std::size_t>(one.shape.elements());
  for (const std::int32_t row : rows) {
    write(row, std::span(place, stride));
    place += stride;
  }
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
    slot = {room_for(data.input_type(), rows), room_for(data.target_type(), rows), 0};
  }
  if (options.ahead) {
    const limpid::detail::BlockedSignals blocked;
    thread_ = std::thread([this] { fill_all(); });
  }
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

void Feeder::begin_epoch(std::int64_t epoch) {
  order_ = std::make_unique<Batches>(data_.size(), BatchOptions{.size = options_.batch},
                                     options_.key, epoch);
  if (data_.windows) offset_ = data_.windows->offset(options_.offset_key, epoch);
  order_of_ = epoch;
}

void Feeder::fill(Slot& slot, std::int64_t batch) {
  const std::int64_t epoch = batch / batches_an_epoch_;
  if (order_of_ != epoch) begin_epoch(epoch);
  const std::span<const std::int32_t> rows = (*order_)[batch % batches_an_epoch_];
  slot.rows = static_cast<std::int64_t>(rows.size());
  if (!data_.windows) {
    gather(data_.inputs, rows, slot.x.get());
    gather(data_.targets, rows, slot.y.get());
    return;
  }
  const TokenWindows& windows = *data_.windows;
  gather(data_.input_type(), rows, slot.x.get(),
         [&](std::int64_t row, auto out) { windows.write_inputs(row, offset_, out); });
  gather(data_.target_type(), rows, slot.y.get(),
         [&](std::int64_t row, auto out) { windows.write_targets(row, offset_, out); });
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
