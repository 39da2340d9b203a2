#include "limpid/train/loop/prefetching_loader.h"

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
  gather_rows(source, rows, {out, source.type().bytes() / count * rows.size()});
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

PrefetchingLoader::PrefetchingLoader(const Dataset& data, const Options& options, Pieces pieces)
    : data_(data), options_(options), pieces_(std::move(pieces)) {
  const Type target =
      mixes(options.augmentation) ? Type{Dtype::kF32, {options.classes}} : data.target_type();
  for (Slot& slot : slots_)
    slot = {room_for(data.input_type(), options.most_rows), room_for(target, options.most_rows), 0};
  if (!options.augmentation.empty())
    augmenter_.emplace(options.augmentation, data, options.classes);
  if (options.ahead) {
    const limpid::detail::BlockedSignals blocked;
    thread_ = std::thread([this] { fill_all(); });
  }
}

PrefetchingLoader::~PrefetchingLoader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PrefetchingLoader::refuse_more() {
  throw Error(ErrorCode::kInvalidArgument, "loader: there are no more batches");
}

PrefetchingLoader::Batch PrefetchingLoader::next() {
  const std::int64_t piece = next_;
  Slot& slot = slots_[piece % 2];
  if (options_.ahead) {
    std::unique_lock lock(mutex_);
    next_ = piece + 1;
    changed_.notify_all();
    changed_.wait(lock, [&] { return filled_ > piece || error_ || no_more_; });
    if (error_) std::rethrow_exception(error_);
    if (filled_ <= piece) refuse_more();
  } else {
    next_ = piece + 1;
    if (!fill(slot)) refuse_more();
  }
  return {slot.x.get(), slot.y.get(), slot.rows};
}

void PrefetchingLoader::begin_epoch(std::int64_t epoch) {
  order_ = std::make_unique<Batches>(data_.size(), BatchOptions{.size = data_.size()}, options_.key,
                                     epoch);
  if (data_.windows) offset_ = data_.windows->offset(options_.offset_key, epoch);
  order_of_ = epoch;
}

// False where there is no more.
bool PrefetchingLoader::fill(Slot& slot) {
  const std::optional<Piece> piece = pieces_();
  if (!piece) return false;
  if (order_of_ != piece->epoch) begin_epoch(piece->epoch);
  const std::span<const std::int32_t> rows = (*order_)[0].subspan(
      static_cast<std::size_t>(piece->rows.begin), static_cast<std::size_t>(piece->rows.size()));
  slot.rows = piece->rows.size();
  if (!data_.windows) {
    if (augmenter_)
      augment(rows, slot);
    else
      gather(data_.inputs, rows, slot.x.get());
    if (!mixes(options_.augmentation)) gather(data_.targets, rows, slot.y.get());
    return true;
  }
  const TokenWindows& windows = *data_.windows;
  gather(data_.input_type(), rows, slot.x.get(),
         [&](std::int64_t row, auto out) { windows.write_inputs(row, offset_, out); });
  gather(data_.target_type(), rows, slot.y.get(),
         [&](std::int64_t row, auto out) { windows.write_targets(row, offset_, out); });
  return true;
}

// The rows of the inputs, and of targets that are mixed, each drawn by its key of this epoch.
void PrefetchingLoader::augment(std::span<const std::int32_t> rows, Slot& slot) {
  const Key key = options_.augment_key.fold_in(static_cast<std::uint64_t>(order_of_));
  const auto size = static_cast<std::size_t>(data_.picture->elements());
  const auto classes =
      mixes(options_.augmentation) ? static_cast<std::size_t>(options_.classes) : 0;
  auto* x = reinterpret_cast<float*>(slot.x.get());
  auto* y = reinterpret_cast<float*>(slot.y.get());
  for (const std::int32_t row : rows) {
    (*augmenter_)(key, row, {x, size}, {y, classes});
    x += size;
    y += classes;
  }
}

// The thread: piece p is gathered while piece p - 1 is in use, and not before.
void PrefetchingLoader::fill_all() {
  try {
    for (std::int64_t p = 0;; ++p) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || p <= next_; });
        if (stop_) return;
      }
      const bool more = fill(slots_[p % 2]);
      {
        const std::lock_guard lock(mutex_);
        if (more)
          filled_ = p + 1;
        else
          no_more_ = true;
      }
      changed_.notify_all();
      if (!more) return;
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
