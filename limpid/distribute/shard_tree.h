// The binary tree over a batch's shards (docs/arithmetic.md, "Shards"), whoever computes which part
// of it. Depends on the standard library alone.
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

// Where the children of a node of two or more shards meet: 2^k shards after its beginning, 2^k
// being the largest power of two below its size.
std::int64_t middle_of(ShardRange node);

// The shards of a rank: runs that differ by at most one in their size, in the order of the ranks.
// Requires 1 <= ranks <= shards.
ShardRange shards_of(std::int64_t shards, int ranks, int rank);

// The largest nodes of the tree over [0, shards) inside of `run`, in order: what a rank adds up by
// itself. At most 2 log2(shards) of them.
std::vector<ShardRange> roots_in(std::int64_t shards, ShardRange run);

// The additions that make one node of others, in the order in which these arrive: any order, the
// same additions.
class TreeSum {
 public:
  // Adds the value of part `from` to that of part `into`; `from` is not used again.
  using Add = std::function<void(std::size_t into, std::size_t from)>;

  // `parts` are nodes that make up `whole` without gaps, in order. Throws kInvalidArgument where
  // they are not.
  TreeSum(ShardRange whole, const std::vector<ShardRange>& parts);

  // The value of a part is there: does the additions that are possible now. True where the whole is
  // complete, as the value of part 0.
  bool arrived(std::size_t part, const Add& add);
  // Before the next sum.
  void reset();

 private:
  struct Node {
    std::size_t parent;       // of the root: none
    std::size_t left, right;  // parts that hold the children's values
    int missing = 2;          // children
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  void grow(ShardRange whole, const std::vector<ShardRange>& parts, std::size_t first,
            std::size_t count, std::size_t parent);

  std::vector<Node> nodes_;
  std::vector<std::size_t> parent_of_;  // of a part
};

}  // namespace limpid::distribute
