// Ticket: what both sides of a request on its way know of it: whether its client still waits (a
// cancellation flag), and the model that it asks for. It lives until the answer is sent.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace limpid::serve {

// Shared by the waiting and the computing side, on any threads.
class Ticket {
 public:
  void give_up() { given_up_.store(true, std::memory_order_relaxed); }
  bool given_up() const { return given_up_.load(std::memory_order_relaxed); }

  // The name of a served model, for log and metrics: also of a request that fails or is given up.
  void set_model(std::shared_ptr<const std::string> name) {
    const std::lock_guard lock(mutex_);
    model_ = std::move(name);
  }
  // nullptr if there is none.
  std::shared_ptr<const std::string> model() const {
    const std::lock_guard lock(mutex_);
    return model_;
  }

  // Keeps what the request has taken of a Budget.
  void keep(std::shared_ptr<const void> share) {
    const std::lock_guard lock(mutex_);
    share_ = std::move(share);
  }

 private:
  std::atomic<bool> given_up_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const std::string> model_;
  std::shared_ptr<const void> share_;
};

}  // namespace limpid::serve
