// Ctrl-C during long runs of the library. Depends on lock.h and limpid/compile.
#pragma once

#include <optional>

#include "limpid/core/stop_check.h"
#include "lock.h"

namespace limpid::python {

// Runs Python's signal handlers while a run is under way without the interpreter's lock. Where one
// of them raises an exception, the run ends and the exception is set: throw
// py::error_already_set() with the lock held. Python runs handlers in its main thread alone, so
// the check does nothing in others.
StopCheck signal_check();

// code(check) without the interpreter's lock: a std::optional, empty where the check ended the run.
// The check is that of a StopScope, too.
template <class Code>
auto interruptible(const Code& code) {
  StopCheck check = signal_check();
  try {
    auto result = [&] {
      const StopScope scope(check);
      const Unlocked unlocked;
      return code(check);
    }();
    if (result) return *std::move(result);
  } catch (const Stopped&) {
  }
  throw py::error_already_set();
}

// code() without the interpreter's lock, in a StopScope.
template <class Code>
auto unlocked(const Code& code) {
  StopCheck check = signal_check();
  try {
    const StopScope scope(check);
    const Unlocked release;
    return code();
  } catch (const Stopped&) {
  }
  throw py::error_already_set();
}

// As above, for what calls a function between the parts of its work, such as an Observer:
// code(function), which gives a result.
template <class Code>
auto interruptible_between(const Code& code) {
  struct Ended {};
  return interruptible([&](StopCheck& check) {
    const auto between = [&](const auto&...) {
      if (check.stops()) throw Ended();
    };
    using Result = std::optional<decltype(code(between))>;
    try {
      return Result(code(between));
    } catch (const Ended&) {
      return Result();
    }
  });
}

}  // namespace limpid::python
