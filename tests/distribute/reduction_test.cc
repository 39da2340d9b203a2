// Reduction: each rank's part of the sum has the bits of the tree, for any number of ranks.
#include "limpid/distribute/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "limpid/core/key.h"
#include "limpid/distribute/in_process.h"
#include "tests/refusals.h"

namespace limpid::distribute {
namespace {

constexpr std::size_t kTail = 3;

float value(std::int64_t shard, std::size_t i) {
  return std::ldexp(Key(static_cast<std::uint64_t>(shard)).uniform(i) - 0.5f,
                    static_cast<int>((i + static_cast<std::size_t>(shard)) % 13));
}

float sum_of(ShardRange node, std::size_t i) {
  if (node.size() == 1) return value(node.begin, i);
  return sum_of({node.begin, middle_of(node)}, i) + sum_of({middle_of(node), node.end}, i);
}

// Parts of about the same size; the last one is empty where there are several.
std::vector<ElementRange> divided(std::size_t elements, int count) {
  std::vector<ElementRange> parts;
  const auto end = [&](int r) {
    return std::min(elements, elements * static_cast<std::size_t>(r) /
                                  static_cast<std::size_t>(std::max(1, count - 1)));
  };
  for (int r = 0; r < count; ++r) parts.push_back({end(r), end(r + 1)});
  return parts;
}

// Each rank sums `parts` of `shards` twice, in either order, and checks its sum and what the
// others noted.
void check_rank(Communicator* ranks, std::int64_t shards, std::size_t elements,
                const std::vector<ElementRange>& parts) {
  const auto self = static_cast<std::size_t>(ranks ? ranks->rank() : 0);
  ThreadPool pool({.threads = 2});
  Reduction sum(ranks, {shards, parts, elements, kTail}, &pool);
  for (std::size_t step = 0; step < 2; ++step) {
    sum.begin();
    const ShardRange own = sum.shards();
    for (std::int64_t k = 0; k < own.size(); ++k) {
      const std::int64_t s = step == 0 ? own.end - 1 - k : own.begin + k;
      float* const values = sum.take();
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(values) % 64, 0U);
      for (std::size_t i = 0; i < elements + kTail; ++i) values[i] = value(s, i);
      sum.add(s, values);
    }
    // Of rank r, r numbers; in the second step.
    std::vector<std::vector<std::size_t>> notes;
    std::vector<std::span<std::byte>> memory;
    for (std::size_t r = 0; r < parts.size(); ++r) notes.emplace_back(r, r == self ? self : 99);
    for (auto& note : notes) memory.push_back(std::as_writable_bytes(std::span(note)));
    const Reduction::Sum total =
        step == 0 ? sum.finish() : sum.finish(std::as_bytes(std::span(notes[self])), memory);
    for (std::size_t i = 0; i < kTail; ++i)
      ASSERT_EQ(total.tail[i], sum_of({0, shards}, elements + i));
    const ElementRange mine = parts[self];
    for (std::size_t i = 0; i < mine.size(); ++i)
      ASSERT_EQ(total.part[i], sum_of({0, shards}, mine.begin + i));
    for (std::size_t r = 0; r < notes.size() && step == 1; ++r)
      ASSERT_EQ(notes[r], std::vector<std::size_t>(r, r));
  }
}

// One for each level of the tree, and the next one.
TEST(Reduction, FewVectorsAreInMemoryAtOnce) {
  constexpr std::int64_t kShards = 64;
  for (const bool descending : {false, true}) {
    Reduction sum(nullptr, {kShards, {{0, 5}}, 5, 1});
    std::set<const float*> used;
    for (int step = 0; step < 2; ++step) {
      sum.begin();
      for (std::int64_t i = 0; i < kShards; ++i) {
        float* const values = sum.take();
        used.insert(values);
        std::fill_n(values, 6, 1.0f);
        sum.add(descending ? kShards - 1 - i : i, values);
      }
      EXPECT_EQ(sum.finish().part[4], kShards);
    }
    EXPECT_LE(used.size(), 7U);
  }
}

// A rank that posts messages and never completes them.
class Unfinished : public Communicator {
 public:
  Unfinished() : Communicator(0, 2) {}

  std::vector<Sent> sent;
  std::vector<Received> received;

 private:
  void post(std::span<const Sent> out, std::span<const Received> in, bool) override {
    sent.insert(sent.end(), out.begin(), out.end());
    received.insert(received.end(), in.begin(), in.end());
  }
  void complete() override {}
};

// As after an error between begin() and finish(): MPI may still read and write the messages. The
// address sanitizer finds memory that is gone.
TEST(Reduction, StartedMessagesOutliveIt) {
  Unfinished ranks;
  {
    constexpr std::size_t kElements = 20'000;
    Reduction sum(&ranks, {12, {{0, kElements}, {0, kElements}}, kElements, 0});
    sum.begin();
    for (std::int64_t s = sum.shards().end; s-- > sum.shards().begin;) {
      float* const values = sum.take();
      std::fill_n(values, kElements, 1.0f);
      sum.add(s, values);
    }
  }
  ASSERT_FALSE(ranks.sent.empty());
  ASSERT_FALSE(ranks.received.empty());
  for (const Communicator::Sent& s : ranks.sent)
    for (std::size_t i = 0; i < s.bytes.size(); i += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, s.bytes.data() + i, sizeof value);
      ASSERT_EQ(value, 2.0f);
    }
  for (const Communicator::Received& r : ranks.received)
    std::fill(r.bytes.begin(), r.bytes.end(), std::byte{1});
}

TEST(Reduction, AnyRanksGetTheSameSum) {
  for (const std::int64_t shards : {1, 2, 3, 5, 8, 13, 16})
    for (int count = 1; count <= std::min<std::int64_t>(shards, 8); ++count) {
      SCOPED_TRACE(std::to_string(shards) + " shards, " + std::to_string(count) + " ranks");
      // Each rank gets a part (500), also of a vector so large that subtrees are sent early
      // (17,000). Each rank gets the whole sum in one round (500), and by doubling if ranks and
      // shards are powers of 2 (2,500).
      for (const auto& [elements, whole] :
           {std::pair<std::size_t, bool>{500, false}, {17'000, false}, {500, true}, {2500, true}}) {
        const std::vector<ElementRange> parts =
            whole ? std::vector<ElementRange>(static_cast<std::size_t>(count), {0, elements})
                  : divided(elements, count);
        if (count == 1)
          check_rank(nullptr, shards, elements, parts);
        else
          run_in_process(count, [&, size = elements](Communicator& ranks) {
            check_rank(&ranks, shards, size, parts);
          });
      }
    }
}

// Threads add large vectors in parts, the last of which is shorter.
TEST(Reduction, SumsOfLargeVectorsAreWhole) {
  constexpr std::size_t kElements = 40'000;
  check_rank(nullptr, 2, kElements, divided(kElements, 1));
  run_in_process(2, [](Communicator& ranks) {
    check_rank(&ranks, 4, kElements, std::vector<ElementRange>(2, {0, kElements}));
  });
}

TEST(Reduction, OfFewerShardsThanRanksIsRefused) {
  const std::vector<ElementRange> parts = divided(500, 3);
  expect_refused(ErrorCode::kInvalidArgument, [&] { Reduction(nullptr, {0, {{0, 500}}, 500, 0}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { Reduction(nullptr, {4, parts, 500, 0}); });
  run_in_process(3, [&](Communicator& ranks) {
    try {
      Reduction(&ranks, {2, parts, 500, 0});
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    }
  });
}

TEST(Reduction, SmallVectorsAreSummedByEveryRank) {
  EXPECT_TRUE(sum_whole(1000, 8));
  EXPECT_TRUE(sum_whole(10'000, 8));
  EXPECT_FALSE(sum_whole(1'000'000, 2));
  EXPECT_FALSE(sum_whole(10'000, 1024));
}

}  // namespace
}  // namespace limpid::distribute
