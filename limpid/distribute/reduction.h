// Reduction: a deterministic reduce-scatter, or all-reduce. Adds f32 vectors, one for each shard,
// by the tree over the shards; each rank gets a part of the sum. Depends on compile for its threads
// and on kernels for the addition.
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

// Whether every rank should get the whole sum of vectors of this size, which takes one round of
// messages, instead of a part of it, which takes fewer bytes.
bool sum_whole(std::size_t elements, int ranks);

class Reduction {
 public:
  // The sizes of a Reduction.
  struct Shape {
    std::int64_t shards = 1;
    std::vector<ElementRange>
        parts;                 // the part of the sum for each rank, by rank; parts may overlap
    std::size_t elements = 0;  // of the sum
    std::size_t tail = 0;      // further elements, whose sum every rank gets
  };

  // `ranks` is nullptr for a single rank. Ranks and pool must outlive the Reduction. Throws
  // kInvalidArgument for fewer shards than ranks, and for another number of parts than of ranks.
  Reduction(Communicator* ranks, Shape shape, ThreadPool* pool = nullptr);

  // This rank's shards.
  ShardRange shards() const { return own_; }
  std::int64_t all_shards() const { return shape_.shards; }

  // Begins a new sum, reusing the memory of earlier ones. Until finish() the ranks exchange nothing
  // else.
  void begin();
  // Memory for elements + tail numbers, aligned to 64 bytes and uninitialised. give_back() returns
  // unused memory.
  float* take();
  void give_back(float* values);
  // Adds the values of a shard, in memory from take(). Call it once for each of shards(), in any
  // order; in ascending or descending order few vectors are in memory at once. In descending order
  // complete subtrees are sent while the caller computes the next shards.
  void add(std::int64_t shard, float* values);

  // The sums; valid until the next begin().
  struct Sum {
    const float* part = nullptr;  // this rank's
    const float* tail = nullptr;
  };
  // Call it after all shards were added. With the sums, every rank sends its `note` to all others:
  // notes[r] has the size of that of rank r, and this rank's own entry is not used. Throws what
  // Communicator::exchange throws.
  Sum finish(std::span<const std::byte> note = {},
             std::span<const std::span<std::byte>> notes = {});

 private:
  // A root of one rank's shards: see roots_in().
  struct Root {
    int rank;
    ShardRange shards;
    bool early;        // it can be sent before its rank has computed all of its shards
    std::size_t room;  // another rank's: its place in received_
  };
  // This rank's part of the values of a root, and their tail.
  struct Values {
    float *part, *tail;
  };

  Values values_of(const Root& root) const;
  void send(const Root& root, std::vector<Communicator::Sent>& sent) const;
  void receive(const Root& root, std::vector<Communicator::Received>& received) const;
  void send_complete();
  Sum finish_by_doubling(std::span<const std::byte> note,
                         std::span<const std::span<std::byte>> notes);
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
  std::vector<float*> values_;     // of this rank's shards, then of their sums
  std::vector<Root> roots_;        // of all ranks
  std::size_t first_root_ = 0;     // this rank's
  std::vector<TreeSum> subtrees_;  // one for each of this rank's roots
  std::vector<bool> complete_;     // which of them are
  std::size_t unsent_ = 0;         // as many of them, the first ones
  TreeSum parts_, tails_;          // over them
  bool doubling_;                  // see finish_by_doubling()
  std::shared_ptr<std::byte> received_;
};

}  // namespace limpid::distribute
