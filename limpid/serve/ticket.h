// Ticket: whether a client still waits for the response to a request (a cancellation flag).
#pragma once

#include <atomic>
#include <memory>

namespace limpid::serve {

// Shared by the waiting and the computing side, on any threads.
class Ticket {
 public:
  void give_up() { given_up_.store(true, std::memory_order_relaxed); }
  bool given_up() const { return given_up_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> given_up_{false};
};

}  // namespace limpid::serve
