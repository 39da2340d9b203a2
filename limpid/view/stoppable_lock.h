// A lock that a request can stop waiting for. Depends on core.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "limpid/core/stop_check.h"

namespace limpid::view {

// The locked mutex. Throws Stopped where a StopScope of the thread ends the wait.
inline std::unique_lock<std::mutex> stoppable_lock(std::mutex& mutex) {
  constexpr std::chrono::milliseconds kRound{5};
  std::unique_lock lock(mutex, std::defer_lock);
  while (!lock.try_lock()) {
    throw_if_stopped();
    std::this_thread::sleep_for(kRound);
  }
  return lock;
}

}  // namespace limpid::view
