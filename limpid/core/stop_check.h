// StopCheck: asks during long work whether to end it early, for Ctrl-C and the like; StopScope: for
// whatever a thread does. Depends on nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
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

// Thrown where a StopScope ends the work of its thread. It is no Error: nothing has failed, and
// code that carries on after an Error must not carry on after this.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override;
};

// While it lives, the check may end what its thread does in the library, which throws Stopped: the
// interpreter, tracing and transforming, compiling, runs of an Executable or a Predictor that have
// no check of their own, hashing, reading and writing files. Nothing is left half done: a file is
// whole or unchanged. The innermost scope of a thread counts. Inside a run of a plan and inside the
// tasks of a ThreadPool there is none: they must not throw.
class StopScope {
 public:
  explicit StopScope(StopCheck& check) noexcept : StopScope(&check) {}
  // No check: nothing ends what comes next.
  explicit StopScope(std::nullptr_t) noexcept : StopScope(static_cast<StopCheck*>(nullptr)) {}
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // The check of this thread; nullptr if there is none.
  static StopCheck* check() noexcept;

 private:
  explicit StopScope(StopCheck* check) noexcept;

  StopCheck* before_;
};

// Throws Stopped if this thread's scope ends its work. For the middle of long work: takes some
// nanoseconds.
void throw_if_stopped();

}  // namespace limpid
