// 10,000 changed files of every format: each is read, or refused by an Error, in bounded time and
// memory. A round depends on its number alone.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>

#include "limpid/core/error.h"
#include "tests/fuzz/count_memory.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

constexpr std::uint64_t kRounds = 10'000;
// More seconds than any file of this size takes on any machine: a hang.
constexpr unsigned kHangSeconds = 60;

// The maximum of memory while reading, not counting the file itself.
std::size_t most_memory(std::size_t file) { return 2 * file + (std::size_t{64} << 20); }

// The current round, for a signal handler that ends the program.
char current[128];

extern "C" void say_where(int signal) {
  const std::string_view what = signal == SIGALRM ? ": hangs\n" : ": crashed\n";
  const std::string_view where = current;
  (void)!::write(STDERR_FILENO, where.data(), where.size());
  (void)!::write(STDERR_FILENO, what.data(), what.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Outcome {
  std::string answer;  // "read", or the code of the error
  std::size_t memory = 0;
  double seconds = 0;
};

Outcome outcome_of(const Target& target, std::span<const std::byte> file) {
  using Clock = std::chrono::steady_clock;
  Outcome outcome;
  const std::size_t before = memory_now();
  reset_memory_peak();
  const auto start = Clock::now();
  alarm(kHangSeconds);
  try {
    target.read(file);
    outcome.answer = "read";
  } catch (const Error& error) {
    outcome.answer = name(error.code());
  } catch (const std::exception& error) {
    ADD_FAILURE() << current << ": neither read nor an Error: " << error.what();
  }
  alarm(0);
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.memory = memory_peak() - before;
  return outcome;
}

// The file of a round. Half of them are changed inside a checksum or length.
Bytes file_of(const Target& target, std::span<const Bytes> seeds,
              std::span<const std::string> words, std::uint64_t round) {
  const Key key = Key(2026).fold_in(round);
  const Bytes& seed = seeds[key.below(seeds.size(), 0)];
  if (!target.within || round % 2 == 0) return mutated(seed, seeds, words, key.fold_in(1));
  return target.within(seed, [&](Bytes& content) {
    content = mutated(std::move(content), seeds, words, key.fold_in(1));
  });
}

class Mutation : public ::testing::TestWithParam<const Target*> {
 protected:
  void SetUp() override {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM})
      std::signal(signal, say_where);
  }
};

TEST_P(Mutation, IsReadOrRefused) {
  const Target& target = *GetParam();
  const std::vector<Bytes> seeds = target.seeds();
  const std::vector<std::string> words = target.words();
  ASSERT_FALSE(seeds.empty());
  for (const Bytes& seed : seeds) outcome_of(target, seed);  // one-time initialisation

  std::map<std::string, int> answers;
  Outcome most;
  double seconds = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const Bytes file = file_of(target, seeds, words, round);
    fmt::format_to_n(current, sizeof current - 1, "{}, round {}{}", target.name, round, '\0');
    const Outcome outcome = outcome_of(target, file);
    EXPECT_LE(outcome.memory, most_memory(file.size()))
        << current << ", " << file.size() << " bytes";
    ++answers[outcome.answer];
    most.memory = std::max(most.memory, outcome.memory);
    most.seconds = std::max(most.seconds, outcome.seconds);
    seconds += outcome.seconds;
  }
  std::string line =
      fmt::format("{:<12} {:5.1f} s, the longest {:6.1f} ms, memory {:7.2f} MiB:", target.name,
                  seconds, most.seconds * 1e3, static_cast<double>(most.memory) / (1 << 20));
  for (const auto& [answer, count] : answers) line += fmt::format(" {} {}", count, answer);
  fmt::print("{}\n", line);
  EXPECT_GT(answers["read"], 0);
  EXPECT_LT(answers["read"], static_cast<int>(kRounds));
}

INSTANTIATE_TEST_SUITE_P(Formats, Mutation,
                         ::testing::ValuesIn(all_targets().begin(), all_targets().end()),
                         [](const auto& target) { return std::string(target.param->name); });

// The limit of memory can fail.
TEST(Memory, IsCounted) {
  const Bytes file(1000);
  const auto taking = [](std::size_t bytes) {
    const std::size_t before = memory_now();
    reset_memory_peak();
    touch(Tensor::zeros({Dtype::kU8, Shape{static_cast<std::int64_t>(bytes)}}));
    EXPECT_EQ(memory_now(), before);
    return memory_peak() - before;
  };
  EXPECT_LE(taking(std::size_t{1} << 20), most_memory(file.size()));
  EXPECT_GT(taking(std::size_t{65} << 20), most_memory(file.size()));
  EXPECT_GE(taking(std::size_t{1} << 20), std::size_t{1} << 20);
}

}  // namespace
}  // namespace limpid::fuzz
