// The binary tree over the shards of a batch (docs/arithmetic.md, "Shards"). It does not depend on
// the number of ranks. Depends only on the standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace limpid::distribute {

// Shards [begin, end).
struct ShardRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const ShardRange&) const = default;
};

// The boundary between the children of a node of two or more shards: 2^k shards after its start,
// where 2^k is the largest power of two below its size.
std::int64_t middle_of(ShardRange node);

// The shards of a rank: consecutive ranges by rank, whose sizes differ by at most one. Requires 1
// <= ranks <= shards.
ShardRange shards_of(std::int64_t shards, int ranks, int rank);

// The largest nodes of the tree over [0, shards) inside `run`, in order: the sums that a rank can
// compute alone. At most 2 log2(shards).
std::vector<ShardRange> roots_in(std::int64_t shards, ShardRange run);

// Adds the parts of a node as they arrive. The additions are the same for every order of arrival.
class TreeSum {
 public:
  // Adds the value of part `from` to that of part `into`; `from` is not used again.
  using Add = std::function<void(std::size_t into, std::size_t from)>;

  // `parts` must be nodes of the tree that cover `whole` in order, without gaps; else throws
  // kInvalidArgument.
  TreeSum(ShardRange whole, const std::vector<ShardRange>& parts);

  // Call it when the value of a part has arrived: performs the additions that are now possible.
  // Returns true when the whole sum is complete, in part 0.
  bool arrived(std::size_t part, const Add& add);
  // Call it before the next sum.
  void reset();

 private:
  struct Node {
    std::size_t parent;       // kNone for the root
    std::size_t left, right;  // parts that hold the children's values
    int missing = 2;          // children
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  void grow(ShardRange whole, const std::vector<ShardRange>& parts, std::size_t first,
            std::size_t count, std::size_t parent);

  std::vector<Node> nodes_;
  std::vector<std::size_t> parent_of_;  // by part
};

}  // namespace limpid::distribute
