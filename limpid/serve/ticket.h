// Ticket: whether somebody still waits for the answer of a request.
#pragma once

#include <atomic>
#include <memory>

namespace limpid::serve {

// Shared by who waits and who computes, which may be on different threads.
class Ticket {
 public:
  void give_up() { given_up_.store(true, std::memory_order_relaxed); }
  bool given_up() const { return given_up_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> given_up_{false};
};

}  // namespace limpid::serve
