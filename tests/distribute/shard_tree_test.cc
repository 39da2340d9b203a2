// The tree over shards: its definition, how it is split into ranges, and that neither owners nor
// arrival order affect the sum.
#include "limpid/distribute/shard_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <set>

#include "limpid/core/error.h"
#include "limpid/core/key.h"
#include "limpid/core/tensor.h"

namespace limpid::distribute {
namespace {

// The definition of docs/arithmetic.md, written out: "((0+1)+2)".
std::string written(ShardRange node) {
  if (node.size() == 1) return std::to_string(node.begin);
  std::int64_t half = 1;
  while (2 * half < node.size()) half *= 2;
  return "(" + written({node.begin, node.begin + half}) + "+" +
         written({node.begin + half, node.end}) + ")";
}

// The result of TreeSum if parts arrive in this order.
std::string added(ShardRange whole, const std::vector<ShardRange>& parts,
                  std::vector<std::string> values, const std::vector<std::size_t>& order) {
  TreeSum sum(whole, parts);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool done = sum.arrived(order[i], [&](std::size_t into, std::size_t from) {
      values[into] = "(" + values[into] + "+" + values[from] + ")";
    });
    EXPECT_EQ(done, i + 1 == order.size());
  }
  return values[0];
}

std::vector<std::size_t> shuffled(std::size_t n, Key key) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[key.below(i, i)]);
  return order;
}

TEST(ShardTree, IsTheDocumentedOne) {
  EXPECT_EQ(written({0, 6}), "(((0+1)+(2+3))+(4+5))");
  EXPECT_EQ(written({0, 7}), "(((0+1)+(2+3))+((4+5)+6))");
  EXPECT_EQ(middle_of({0, 5}), 4);
  EXPECT_EQ(middle_of({0, 8}), 4);
  EXPECT_EQ(middle_of({8, 10}), 9);
}

TEST(ShardTree, AnyRanksMakeTheSameAdditions) {
  for (std::int64_t shards = 1; shards <= 40; ++shards)
    for (int ranks = 1; ranks <= shards; ++ranks) {
      std::vector<ShardRange> all;
      std::vector<std::string> values;
      std::int64_t next = 0;
      for (int r = 0; r < ranks; ++r) {
        const ShardRange run = shards_of(shards, ranks, r);
        ASSERT_EQ(run.begin, next);
        ASSERT_GE(run.size(), 1);
        next = run.end;
        const std::vector<ShardRange> roots = roots_in(shards, run);
        ASSERT_LE(roots.size(),
                  2 * static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(shards))));
        for (const ShardRange& root : roots) {
          all.push_back(root);
          values.push_back(written(root));
        }
      }
      ASSERT_EQ(next, shards);
      ASSERT_EQ(added({0, shards}, all, values, shuffled(all.size(), Key(7))), written({0, shards}))
          << shards << " shards, " << ranks << " ranks";
    }
}

TEST(ShardTree, RefusesPartsThatAreNoNodes) {
  EXPECT_THROW(TreeSum({0, 4}, {{0, 3}, {3, 4}}), Error);
  EXPECT_THROW(TreeSum({0, 4}, {{0, 2}}), Error);
  EXPECT_THROW(TreeSum({0, 4}, {{1, 2}, {2, 4}}), Error);
  EXPECT_THROW(TreeSum({0, 4}, {{0, 1}, {2, 4}}), Error);
  EXPECT_THROW(TreeSum({0, 1}, {}), Error);
}

// ---- 4,096 shards on 1,024 ranks

constexpr std::int64_t kShards = 4096;
constexpr int kRanks = 1024;
constexpr std::size_t kNumbers = 5;
using Vector = std::array<float, kNumbers>;

// Numbers of many magnitudes, so that another order of addition gives another sum.
Vector gradient(std::int64_t shard) {
  Vector v{};
  const Key key = Key(11).fold_in(static_cast<std::uint64_t>(shard));
  for (std::size_t i = 0; i < kNumbers; ++i)
    v[i] = std::ldexp(key.uniform(2 * i) - 0.5f, static_cast<int>(key.below(20, 2 * i + 1)) - 10);
  return v;
}

void add(Vector& into, const Vector& from) {
  for (std::size_t i = 0; i < kNumbers; ++i) into[i] += from[i];
}

Vector sum_of(ShardRange node) {
  if (node.size() == 1) return gradient(node.begin);
  Vector left = sum_of({node.begin, middle_of(node)});
  add(left, sum_of({middle_of(node), node.end}));
  return left;
}

std::uint64_t hash_of(const Vector& v) { return limpid::hash(std::as_bytes(std::span(v))); }

// Nodes of random sizes that make up the tree.
void scatter(ShardRange node, Key key, std::vector<ShardRange>& nodes) {
  const auto place = static_cast<std::uint64_t>(node.begin * 8192 + node.end);
  if (node.size() == 1 || (node.size() <= 16 && key.below(3, place) == 0)) {
    nodes.push_back(node);
    return;
  }
  scatter({node.begin, middle_of(node)}, key, nodes);
  scatter({middle_of(node), node.end}, key, nodes);
}

TEST(ShardTree, RandomOwnersAndOrdersOfArrivalGiveOneHash) {
  const std::uint64_t expected = hash_of(sum_of({0, kShards}));
  // Sequential addition gives another sum: the numbers are sensitive to order.
  Vector in_order = gradient(0);
  for (std::int64_t s = 1; s < kShards; ++s) add(in_order, gradient(s));
  ASSERT_NE(hash_of(in_order), expected);
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const Key key = Key(3).fold_in(trial);
    std::vector<ShardRange> nodes;
    scatter({0, kShards}, key, nodes);
    // The nodes of each rank. A rank's own arrive in the order of its messages.
    std::vector<std::vector<std::size_t>> of_rank(kRanks);
    for (std::size_t n = 0; n < nodes.size(); ++n)
      of_rank[key.fold_in(1).below(kRanks, n)].push_back(n);
    std::vector<Vector> values(nodes.size());
    std::vector<std::size_t> sent;
    for (const std::size_t rank : shuffled(kRanks, key.fold_in(2)))
      for (const std::size_t n : of_rank[rank]) {
        const auto count = static_cast<std::size_t>(nodes[n].size());
        std::vector<ShardRange> leaves;
        std::vector<Vector> own;
        for (std::int64_t s = nodes[n].begin; s < nodes[n].end; ++s) {
          leaves.push_back({s, s + 1});
          own.push_back(gradient(s));
        }
        TreeSum subtree(nodes[n], leaves);
        for (const std::size_t leaf : shuffled(count, key.fold_in(100 + n)))
          subtree.arrived(leaf,
                          [&](std::size_t into, std::size_t from) { add(own[into], own[from]); });
        values[n] = own[0];
        sent.push_back(n);
      }
    ASSERT_EQ(sent.size(), nodes.size());
    TreeSum whole({0, kShards}, nodes);
    bool done = false;
    for (const std::size_t i : shuffled(sent.size(), key.fold_in(3)))
      done = whole.arrived(
          sent[i], [&](std::size_t into, std::size_t from) { add(values[into], values[from]); });
    EXPECT_TRUE(done);
    EXPECT_EQ(hash_of(values[0]), expected) << "trial " << trial;
  }
}

}  // namespace
}  // namespace limpid::distribute
