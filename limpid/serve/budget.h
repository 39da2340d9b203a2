// Budget: an amount that active requests share, such as bytes of memory. Depends on nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace limpid::serve {

// Thread-safe. Shares may outlive it.
class Budget {
 public:
  explicit Budget(std::size_t most) : most_(most) {}

  // Takes a share, given back when the result is destroyed. Returns nullptr if too little is left.
  std::shared_ptr<const void> take(std::size_t amount);
  std::size_t taken() const { return taken_->load(); }

 private:
  const std::size_t most_;
  std::shared_ptr<std::atomic<std::size_t>> taken_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace limpid::serve
