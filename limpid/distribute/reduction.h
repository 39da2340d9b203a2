// Reduction: vectors of f32, one for each shard, added by the tree over the shards; each rank ends
// with a part of the sum. Depends on compile for its threads and on kernels for the addition.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/distribute/communicator.h"
#include "limpid/distribute/shard_tree.h"

namespace limpid::distribute {

// Elements [begin, end) of a vector.
struct ElementRange {
  std::size_t begin = 0, end = 0;

  std::size_t size() const { return end - begin; }
};

class Reduction {
 public:
  // What is added up.
  struct Shape {
    std::int64_t shards = 1;
    std::vector<ElementRange> parts;  // of which each rank ends with one, in the order of the ranks
    std::size_t elements = 0;         // that the parts divide
    std::size_t tail = 0;             // elements after these, whose sum every rank gets
  };

  // `ranks` is nullptr where there is one rank alone. Both must outlive the Reduction.
  Reduction(Communicator* ranks, Shape shape, ThreadPool* pool = nullptr);

  // This rank's shards.
  ShardRange shards() const { return own_; }
  std::int64_t all_shards() const { return shape_.shards; }

  // Begins a sum: memory of earlier ones is used again.
  void begin();
  // Memory for elements + tail numbers, at a multiple of 64 bytes; its content is undefined.
  float* take();
  void give_back(float* values);
  // The values of a shard, in memory of take()'s. Each of shards() once, in any order; an order
  // from one end to the other keeps few of them in memory.
  void add(std::int64_t shard, float* values);

  // Good until the next begin().
  struct Sum {
    const float* part = nullptr;  // this rank's
    const float* tail = nullptr;
  };
  // After all shards were added. Throws what Communicator::exchange throws.
  Sum finish();

 private:
  // The roots of one rank's shards.
  struct Root {
    int rank;
    ShardRange shards;
  };

  int rank() const { return ranks_ ? ranks_->rank() : 0; }
  int size() const { return ranks_ ? ranks_->size() : 1; }
  const ElementRange& part(int r) const { return shape_.parts[static_cast<std::size_t>(r)]; }
  void accumulate(float* into, const float* from, std::size_t count) const;

  Communicator* ranks_;
  Shape shape_;
  ThreadPool* pool_;
  ShardRange own_;
  std::vector<std::shared_ptr<std::byte>> memory_;  // of take()
  std::vector<float*> free_;
  std::vector<float*> values_;     // of own shards, then of their sums
  std::vector<TreeSum> subtrees_;  // one for each of this rank's roots
  std::vector<ShardRange> own_roots_;
  std::vector<Root> roots_;  // of all ranks
  TreeSum parts_, tails_;    // over them
  std::shared_ptr<std::byte> received_;
};

}  // namespace limpid::distribute
