// StopCheck: asks during a long run whether to end it early, for Ctrl-C and the like. Depends on
// nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

namespace limpid {

class StopCheck {
 public:
  // `asked` returns true to end the run. It is called by the thread that called run(), between the
  // parts of the work, at most every 50 milliseconds. Must not throw.
  explicit StopCheck(std::function<bool()> asked) : asked_(std::move(asked)) {}

  // Whether the run ends now. Only the thread that called run() may call this.
  bool stops() noexcept {
    if (stopped()) return true;
    const Clock::time_point now = Clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(50);
    if (asked_()) stopped_.store(true, std::memory_order_relaxed);
    return stopped();
  }
  // Whether the run has been ended. Any thread may call this.
  bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;

  std::function<bool()> asked_;
  std::atomic<bool> stopped_{false};
  Clock::time_point next_;  // the epoch of the clock: the first call asks
};

}  // namespace limpid
