#include "limpid/serve/budget.h"

#include <utility>

namespace limpid::serve {
namespace {

struct Share {
  explicit Share(std::shared_ptr<std::atomic<std::size_t>> its_taken)
      : taken(std::move(its_taken)) {}
  ~Share() { taken->fetch_sub(amount); }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  std::shared_ptr<std::atomic<std::size_t>> taken;
  std::size_t amount = 0;
};

}  // namespace

std::shared_ptr<const void> Budget::take(std::size_t amount) {
  // Made before anything is taken, as there may be no memory for it.
  auto share = std::make_shared<Share>(taken_);
  std::size_t before = taken_->load();
  do {
    if (amount > most_ - before) return nullptr;
  } while (!taken_->compare_exchange_weak(before, before + amount));
  share->amount = amount;
  return share;
}

}  // namespace limpid::serve
