// Reduction: each rank's part of the sum has the bits of the tree, for any number of ranks.
#include "limpid/distribute/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "limpid/core/key.h"
#include "limpid/distribute/in_process.h"

namespace limpid::distribute {
namespace {

constexpr std::size_t kElements = 1000, kTail = 3;

float value(std::int64_t shard, std::size_t i) {
  return std::ldexp(Key(static_cast<std::uint64_t>(shard)).uniform(i) - 0.5f,
                    static_cast<int>((i + static_cast<std::size_t>(shard)) % 13));
}

float sum_of(ShardRange node, std::size_t i) {
  if (node.size() == 1) return value(node.begin, i);
  return sum_of({node.begin, middle_of(node)}, i) + sum_of({middle_of(node), node.end}, i);
}

TEST(Reduction, AnyRanksGetTheSameSum) {
  for (const std::int64_t shards : {1, 2, 3, 5, 8, 13, 16})
    for (int count = 1; count <= std::min<std::int64_t>(shards, 7); ++count) {
      std::mutex mutex;
      std::vector<float> whole(kElements);
      const auto rank = [&](Communicator* ranks) {
        const int self = ranks ? ranks->rank() : 0;
        std::vector<ElementRange> parts;  // the last one is empty where there are several
        for (int r = 0; r < count; ++r)
          parts.push_back(
              {kElements * static_cast<std::size_t>(r) /
                   static_cast<std::size_t>(std::max(1, count - 1)),
               std::min(kElements, kElements * static_cast<std::size_t>(r + 1) /
                                       static_cast<std::size_t>(std::max(1, count - 1)))});
        parts.back().begin = std::min(parts.back().begin, kElements);
        ThreadPool pool({.threads = 2});
        Reduction sum(ranks, {shards, parts, kElements, kTail}, &pool);
        for (int step = 0; step < 2; ++step) {
          sum.begin();
          const ShardRange own = sum.shards();
          for (std::int64_t s = own.end; s-- > own.begin;) {
            float* const values = sum.take();
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(values) % 64, 0U);
            for (std::size_t i = 0; i < kElements + kTail; ++i) values[i] = value(s, i);
            sum.add(s, values);
          }
          const Reduction::Sum total = sum.finish();
          for (std::size_t i = 0; i < kTail; ++i)
            ASSERT_EQ(total.tail[i], sum_of({0, shards}, kElements + i));
          const ElementRange mine = parts[static_cast<std::size_t>(self)];
          const std::lock_guard lock(mutex);
          for (std::size_t i = 0; i < mine.size(); ++i) whole[mine.begin + i] = total.part[i];
        }
      };
      if (count == 1)
        rank(nullptr);
      else
        run_in_process(count, [&](Communicator& ranks) { rank(&ranks); });
      for (std::size_t i = 0; i < kElements; ++i)
        ASSERT_EQ(whole[i], sum_of({0, shards}, i)) << shards << " shards, " << count << " ranks";
    }
}

}  // namespace
}  // namespace limpid::distribute
