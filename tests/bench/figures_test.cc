// The rules of the comparison's figures, and how they are printed.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/rules.h"
#include "bench/speeds.h"
#include "bench/timing.h"

namespace bench {
namespace {

TEST(Ratio, IsTheMedianOfEachTurnsRatio) {
  // The machine was ten times slower in the last turn, for both.
  const Ratio ratio = ratio_of({20, 22, 18, 20, 200}, {10, 10, 10, 10, 100});
  EXPECT_EQ(ratio.value, 2);
  // Quartiles 2 and 2: the fifth is left out.
  EXPECT_EQ(ratio_of({20, 20, 20, 20, 90}, {10, 10, 10, 10, 10}).uncertainty, 0);
}

TEST(Ratio, ItsUncertaintyIsTwoStandardErrorsOfTheMedian) {
  std::vector<double> peer(16), ours(16, 1.0);
  for (std::size_t i = 0; i < 16; ++i) peer[i] = 2 + 0.01 * static_cast<double>(i);
  // Of a normal distribution the quartiles are 1.349 standard deviations apart, and the error of a
  // median is 1.253 times a mean's.
  EXPECT_NEAR(ratio_of(peer, ours).uncertainty, 2 * 1.253 * (0.08 / 1.349) / 4, 1e-12);
}

TEST(Ratio, OneTurnSaysNothing) {
  const Ratio one = ratio_of({3}, {1});
  EXPECT_FALSE(one.is_certain());
  EXPECT_EQ(one.text(), "3.00 ± inf");
}

TEST(Ratio, IsCertainWhenItSaysWhoIsAheadOrThatTheyAreEqual) {
  EXPECT_TRUE((Ratio{1.5, 0.4}.is_certain()));
  EXPECT_TRUE((Ratio{0.5, 0.4}.is_certain()));
  EXPECT_FALSE((Ratio{1.1, 0.15}.is_certain()));
  EXPECT_FALSE((Ratio{0.9, 0.15}.is_certain()));
  EXPECT_TRUE((Ratio{1.001, 0.019}.is_certain()));
  EXPECT_FALSE((Ratio{1.001, 0.021}.is_certain()));
}

TEST(Ratio, ItsTextHasAnUncertaintyThatCanBeSeen) {
  EXPECT_EQ((Ratio{1.234, 0.004}.text()), "1.23");
  EXPECT_EQ((Ratio{1.234, 0.056}.text()), "1.23 ± 0.06");
}

TEST(Turns, TheBestPeerIsTheFastestByItsMedian) {
  EXPECT_EQ(best_peer({{1}, {5, 5, 1}, {}, {4, 4, 9}}), 3u);
  EXPECT_EQ(best_peer({{9}, {5}, {7}}), 1u);
  EXPECT_FALSE(best_peer({{1}, {}}));
  EXPECT_FALSE(best_peer({{1}}));
}

TEST(Turns, AreTakenUntilTheySayWhoIsAhead) {
  const Turns clear = {{10, 10, 10}, {20, 21, 22}}, unclear = {{10, 10, 10}, {6, 11, 13}};
  EXPECT_TRUE(needs_turn(2, 3, clear));
  EXPECT_FALSE(needs_turn(3, 3, clear));
  EXPECT_TRUE(needs_turn(3, 3, unclear));
  EXPECT_TRUE(needs_turn(8, 3, unclear));
  EXPECT_FALSE(needs_turn(9, 3, unclear));
  EXPECT_FALSE(needs_turn(3, 3, {{10, 10, 10}, {}}));  // nobody to be ahead of
  EXPECT_TRUE(needs_turn(1, 1, {{10}, {20}}));
}

TEST(Quiet, OtherProgramsAreSaid) {
  EXPECT_NO_THROW(check_quiet(30));
  EXPECT_THROW(check_quiet(31), std::runtime_error);
}

TEST(Losses, MayDifferByRoundingAlone) {
  const std::vector<float> ours = {4.0f, 3.5f, 3.0f};
  EXPECT_NO_THROW(check_losses(ours, std::vector{4.0f, 3.5f, 3.0009f}));
  EXPECT_THROW(check_losses(ours, std::vector{4.0f, 3.5f, 3.0011f}), std::logic_error);
  EXPECT_THROW(check_losses(ours, std::vector{4.0f, 4.0f, 4.0f}), std::logic_error);  // no update
  EXPECT_THROW(check_losses(ours, std::vector{4.0f, 3.5f, NAN}), std::logic_error);
  EXPECT_THROW(check_losses(ours, std::vector{4.0f, 3.5f}), std::logic_error);
  // Steps that change nothing prove nothing.
  const std::vector<float> still = {4.0f, 4.0f};
  EXPECT_THROW(check_losses(still, still), std::logic_error);
}

TEST(Median, OfAnOddAndAnEvenNumber) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);  // the larger of the two in the middle
}

TEST(Number, HasThreeDigitsOrAllBeforeThePoint) {
  EXPECT_EQ(number(0.01234), "0.0123");
  EXPECT_EQ(number(1.234), "1.23");
  EXPECT_EQ(number(12.34), "12.3");
  EXPECT_EQ(number(-123.4), "-123");
  EXPECT_EQ(number(1234.4), "1234");
}

TEST(Table, LeavesOutWhatIsEmptyInAllRows) {
  Table table{"Title", {"a", "b", "c"}, {}, {}};
  table.add("one", {"1", "", ""});
  table.add("two", {"2", "", "3"});
  EXPECT_EQ(table.markdown(),
            "**Title**\n\n| | a | c |\n|---|---|---|\n| one | 1 | |\n| two | 2 | 3 |\n");
}

Speeds speeds() {
  Speeds s;
  s.gflops = 100;
  s.read = {100, 50, 25, 10};
  s.copy = {80, 40, 20, 8};
  s.caches = {1000, 10000, 100000};
  return s;
}

TEST(Bound, IsTheLongerOfArithmeticAndMemory) {
  EXPECT_EQ(bound({.flops = 5000, .read = 500, .copied = 0}, speeds()), 50);
  EXPECT_EQ(bound({.flops = 5, .read = 500, .copied = 0}, speeds()), 5);
  EXPECT_EQ(bound({.flops = 5, .read = 0, .copied = 400}, speeds()), 5);
  Speeds unknown = speeds();
  unknown.gflops = 0;
  EXPECT_EQ(bound({.flops = 5, .read = 500, .copied = 0}, unknown), 0);
}

TEST(Bound, EachLevelServesWhatItHolds) {
  // 1000 bytes of L1, 9000 more of L2, 90000 more of L3, and 100000 of DRAM.
  EXPECT_DOUBLE_EQ(bound({.flops = 0, .read = 200000, .copied = 0}, speeds()),
                   1000 / 100.0 + 9000 / 50.0 + 90000 / 25.0 + 100000 / 10.0);
  // Two cores have two L1 and two L2, and one L3.
  Speeds two = speeds();
  two.threads = 2;
  EXPECT_DOUBLE_EQ(bound({.flops = 0, .read = 200000, .copied = 0}, two),
                   2000 / 100.0 + 18000 / 50.0 + 80000 / 25.0 + 100000 / 10.0);
  // Half is read and half is copied at each level.
  EXPECT_DOUBLE_EQ(bound({.flops = 0, .read = 1000, .copied = 1000}, speeds()),
                   500 / 100.0 + 500 / 80.0 + 500 / 50.0 + 500 / 40.0);
}

TEST(Timing, ACallIsRepeated) {
  int calls = 0;
  const Timing timing = time_calls([&] { ++calls; }, 1);
  EXPECT_GT(timing.nanoseconds, 0);
  EXPECT_LE(timing.calls, static_cast<std::size_t>(calls));
  EXPECT_GT(timing.calls, 5u);
}

}  // namespace
}  // namespace bench
