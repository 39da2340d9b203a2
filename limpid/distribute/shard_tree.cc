#include "limpid/distribute/shard_tree.h"

#include <fmt/format.h>

#include <bit>

#include "limpid/core/error.h"

namespace limpid::distribute {
namespace {

void add_roots(ShardRange node, ShardRange run, std::vector<ShardRange>& roots) {
  if (node.end <= run.begin || run.end <= node.begin) return;
  if (run.begin <= node.begin && node.end <= run.end) {
    roots.push_back(node);
    return;
  }
  const std::int64_t middle = middle_of(node);
  add_roots({node.begin, middle}, run, roots);
  add_roots({middle, node.end}, run, roots);
}

}  // namespace

std::int64_t middle_of(ShardRange node) {
  return node.begin +
         static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(node.size() - 1)));
}

ShardRange shards_of(std::int64_t shards, int ranks, int rank) {
  return {shards * rank / ranks, shards * (rank + 1) / ranks};
}

std::vector<ShardRange> roots_in(std::int64_t shards, ShardRange run) {
  std::vector<ShardRange> roots;
  add_roots({0, shards}, run, roots);
  return roots;
}

TreeSum::TreeSum(ShardRange whole, const std::vector<ShardRange>& parts)
    : parent_of_(parts.size(), kNone) {
  grow(whole, parts, 0, parts.size(), kNone);
}

// Parts [first, first + count) make up `whole`.
void TreeSum::grow(ShardRange whole, const std::vector<ShardRange>& parts, std::size_t first,
                   std::size_t count, std::size_t parent) {
  if (count == 1 && parts[first] == whole) {
    parent_of_[first] = parent;
    return;
  }
  std::size_t left = 0;
  const std::int64_t middle = whole.size() > 1 ? middle_of(whole) : whole.end;
  while (left < count && parts[first + left].end <= middle) ++left;
  if (left == 0 || left == count)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("the parts of shards [{}, {}) are no nodes of its tree", whole.begin,
                            whole.end));
  const std::size_t self = nodes_.size();
  nodes_.push_back({parent, first, first + left});
  grow({whole.begin, middle}, parts, first, left, self);
  grow({middle, whole.end}, parts, first + left, count - left, self);
}

bool TreeSum::arrived(std::size_t part, const Add& add) {
  std::size_t at = parent_of_[part];
  while (at != kNone) {
    Node& node = nodes_[at];
    if (--node.missing > 0) return false;
    add(node.left, node.right);
    at = node.parent;
  }
  return true;
}

void TreeSum::reset() {
  for (Node& node : nodes_) node.missing = 2;
}

}  // namespace limpid::distribute
