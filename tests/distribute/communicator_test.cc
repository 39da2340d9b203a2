// Ranks in one process: whole and split exchanges, what is computed from them, and ranks that fail.
#include "limpid/distribute/communicator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <climits>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>

#include "limpid/core/error.h"
#include "limpid/distribute/in_process.h"
#include "tests/memory_limit.h"
#include "tests/refusals.h"

namespace limpid::distribute {
namespace {

std::vector<std::byte> text(std::string_view s) {
  const auto bytes = std::as_bytes(std::span(s));
  return {bytes.begin(), bytes.end()};
}

std::string string(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Communicator, ExchangesInOrderAndCutsLargeMessages) {
  for (const std::size_t most : {std::size_t{1}, std::size_t{3}, std::size_t{1000}})
    run_in_process(3, [&](Communicator& ranks) {
      ranks.set_most_bytes(most);
      const int to = (ranks.rank() + 1) % 3, from = (ranks.rank() + 2) % 3;
      const auto first = text("first of " + std::to_string(ranks.rank()));
      const auto second = text("second");
      std::vector<std::byte> one(first.size()), two(second.size()), none;
      const Communicator::Sent sent[] = {{to, first}, {to, none}, {to, second}};
      const Communicator::Received received[] = {{from, one}, {from, none}, {from, two}};
      ranks.exchange(sent, received);
      EXPECT_EQ(string(one), "first of " + std::to_string(from));
      EXPECT_EQ(string(two), "second");
    });
}

// Counts the bytes of what it is given, and sends nothing.
class Counting : public Communicator {
 public:
  Counting() : Communicator(0, 2) {}

  std::size_t sent = 0, received = 0, most = 0;

 private:
  void post(std::span<const Sent> out, std::span<const Received> in, bool) override {
    for (const Sent& s : out) count(sent, s.bytes.size());
    for (const Received& r : in) count(received, r.bytes.size());
  }
  void complete() override {}
  void count(std::size_t& all, std::size_t bytes) {
    all += bytes;
    most = std::max(most, bytes);
  }
};

// As MPI does.
TEST(Communicator, AnIntCountsTheBytesOfAMessage) {
  constexpr std::size_t kBytes = (std::size_t{5} << 30) + 7;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span<std::byte> all(static_cast<std::byte*>(memory), kBytes);
  Counting ranks;
  const Communicator::Sent sent[] = {{1, all}};
  const Communicator::Received received[] = {{1, all}};
  ranks.exchange(sent, received);
  EXPECT_EQ(ranks.sent, kBytes);
  EXPECT_EQ(ranks.received, kBytes);
  EXPECT_LE(ranks.most, static_cast<std::size_t>(INT_MAX));
  ::munmap(memory, kBytes);
}

TEST(Communicator, StartedMessagesAreCompletedByTheNextExchange) {
  run_in_process(3, [](Communicator& ranks) {
    ranks.set_most_bytes(4);
    const int to = (ranks.rank() + 1) % 3, from = (ranks.rank() + 2) % 3;
    const auto first = text("first of " + std::to_string(ranks.rank())), second = text("second"),
               third = text("third");
    std::vector<std::byte> one(first.size()), two(second.size()), three(third.size());
    const Communicator::Received early[] = {{from, one}, {from, two}};
    const auto owner = std::make_shared<std::byte>();
    ranks.start({}, early, {&owner, 1});
    const Communicator::Sent sent_first[] = {{to, first}};
    ranks.start(sent_first, {}, {});
    EXPECT_EQ(owner.use_count(), 2) << "their memory must stay";
    const Communicator::Sent sent_second[] = {{to, second}};
    ranks.start(sent_second, {}, {});
    const Communicator::Sent sent[] = {{to, third}};
    const Communicator::Received received[] = {{from, three}};
    ranks.exchange(sent, received);
    EXPECT_EQ(string(one), "first of " + std::to_string(from));
    EXPECT_EQ(string(two), "second");
    EXPECT_EQ(string(three), "third");
    EXPECT_EQ(owner.use_count(), 1);
  });
}

// But the caller's own thread does, which is the first rank.
TEST(Communicator, RanksInThreadsTakeNoSignals) {
  run_in_process(3, [](Communicator& ranks) {
    sigset_t blocked;
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
      EXPECT_EQ(sigismember(&blocked, signal), ranks.rank() == 0 ? 0 : 1)
          << "rank " << ranks.rank() << ", signal " << signal;
  });
}

TEST(Communicator, GathersAndBroadcasts) {
  for (int size = 1; size <= 9; ++size)
    run_in_process(size, [&](Communicator& ranks) {
      const std::string mine(static_cast<std::size_t>(ranks.rank()), 'x');
      const auto all = all_gather(ranks, text(mine));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
      for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(string(all[r]), std::string(r, 'x'));
      EXPECT_EQ(string(from_first(ranks, text(ranks.rank() == 0 ? "hello" : "no"))), "hello");
      barrier(ranks);
    });
}

TEST(Communicator, NamesAMessageOfAnotherSize) {
  for (const std::size_t expected : {2, 4})
    expect_refused(ErrorCode::kInternal, [&] {
      run_in_process(2, [&](Communicator& ranks) {
        const auto bytes = text("abc");
        std::vector<std::byte> memory(expected);
        const Communicator::Sent sent[] = {{1, bytes}};
        const Communicator::Received received[] = {{0, memory}};
        if (ranks.rank() == 0)
          ranks.exchange(sent, {});
        else
          ranks.exchange({}, received);
      });
    });
}

#if defined(__linux__) && !LIMPID_SANITIZED
// There is room for the stacks of a few threads.
TEST(Communicator, ARankThatCannotStartEndsAll) {
  const MemoryLimit limit(std::uint64_t{64} << 20);
  if (!limit.holds()) GTEST_SKIP() << "memory has no limit here";
  EXPECT_ANY_THROW(run_in_process(64, [](Communicator& ranks) { barrier(ranks); }));
}
#endif

TEST(Communicator, ARankThatFailsEndsAll) {
  for (const int failing : {0, 2, 3}) {
    std::mutex mutex;
    int ended = 0;
    try {
      run_in_process(4, [&](Communicator& ranks) {
        if (ranks.rank() == failing) throw Error(ErrorCode::kNotFound, "no data here");
        try {
          barrier(ranks);
        } catch (const Error& e) {
          EXPECT_NE(std::string(e.what()).find("rank " + std::to_string(failing)),
                    std::string::npos)
              << e.what();
          const std::lock_guard lock(mutex);
          ++ended;
          throw;
        }
      });
      FAIL();
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(), "no data here");
    }
    EXPECT_EQ(ended, 3);
  }
  for (const int count : {0, -1})
    EXPECT_THROW(run_in_process(count, [](Communicator&) {}), Error) << count;
}

}  // namespace
}  // namespace limpid::distribute
