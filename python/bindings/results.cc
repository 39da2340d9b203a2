#include "results.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <utility>

namespace limpid::python {
namespace {

struct Block {
  std::shared_ptr<std::byte> memory;
  std::size_t bytes = 0;
};

// Blocks that no tensor uses, the most recently returned one last. Any thread may drop a tensor,
// and the process may fork while it does, so nothing here waits: a thread that finds another one at
// work allocates, or frees, instead.
class IdleBlocks {
 public:
  Block take(std::size_t bytes) {
    if (const Turn turn(busy_); turn)
      for (std::size_t i = count_; i-- > 0;)
        if (blocks_[i].bytes == bytes) return remove(i);
    return {};
  }

  // `ended` holds the blocks to be freed, beyond the end of `turn`: freeing is slow.
  void give_back(Block block) noexcept {
    std::array<Block, kMost> ended;
    const Turn turn(busy_);
    if (!turn || block.bytes > kMostBytes) return;
    for (std::size_t n = 0; count_ == kMost || bytes_ + block.bytes > kMostBytes; ++n)
      ended[n] = remove(0);
    bytes_ += block.bytes;
    blocks_[count_++] = std::move(block);
  }

 private:
  static constexpr std::size_t kMost = 64, kMostBytes = std::size_t{64} << 20;

  class Turn {
   public:
    explicit Turn(std::atomic<bool>& busy)
        : busy_(busy), mine_(!busy.exchange(true, std::memory_order_acquire)) {}
    ~Turn() {
      if (mine_) busy_.store(false, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return mine_; }

   private:
    std::atomic<bool>& busy_;
    bool mine_;
  };

  Block remove(std::size_t i) noexcept {
    Block block = std::move(blocks_[i]);
    std::move(blocks_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
              blocks_.begin() + static_cast<std::ptrdiff_t>(count_),
              blocks_.begin() + static_cast<std::ptrdiff_t>(i));
    blocks_[--count_] = {};
    bytes_ -= block.bytes;
    return block;
  }

  std::atomic<bool> busy_{false};
  std::array<Block, kMost> blocks_;
  std::size_t count_ = 0, bytes_ = 0;
};

// Never ended: tensors may outlive the module.
IdleBlocks& idle_blocks() {
  static auto* const blocks = new IdleBlocks;
  return *blocks;
}

// Smaller ones come from the heap, which is as fast.
constexpr std::size_t kLarge = std::size_t{32} << 10;

Tensor make_result(const Type& type, std::vector<void*>& memory) {
  const std::size_t bytes = type.bytes();
  if (bytes < kLarge)
    return Tensor::generate_bytes(type,
                                  [&](std::span<std::byte> all) { memory.push_back(all.data()); });
  Block block = idle_blocks().take(bytes);
  if (!block.memory) block = {allocate_aligned(bytes), bytes};
  std::byte* const begin = block.memory.get();
  memory.push_back(begin);
  std::shared_ptr<const void> owner(begin, [block = std::move(block)](const void*) mutable {
    idle_blocks().give_back(std::move(block));
  });
  return Tensor::borrow(type, {begin, bytes}, std::move(owner));
}

}  // namespace

std::vector<Tensor> make_results(std::span<const Type> types,
                                 const std::function<void(std::span<void* const>)>& fill) {
  std::vector<Tensor> results;
  std::vector<void*> memory;
  results.reserve(types.size());
  memory.reserve(types.size());
  for (const Type& type : types) results.push_back(make_result(type, memory));
  fill(memory);
  return results;
}

}  // namespace limpid::python
