// Logs that stay small however long a run is.
#include "limpid/train/log/log_thinner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace limpid::train {
namespace {

// A log as a run writes it: in memory and as the text of its file.
struct Written {
  LogThinner thinner;
  RunLog log;
  std::string text;

  explicit Written(const LogThinner::Distances& distances) : thinner(distances) {
    RunEvent run;
    run.config = "{}";
    run.model = "{}";
    add(run);
  }

  void add(const Event& event) {
    const std::vector<Event> taken = thinner.admit(event);
    if (thinner.has_grown()) {
      thinner.thin(log);
      text = thinner.thin(text, "log");
    }
    for (const Event& e : taken) {
      log.add(e);
      text += to_json_line(e);
    }
  }
  void add_step(std::int64_t step) {
    StepEvent event;
    event.step = step;
    add(event);
  }
  void add_epoch(std::int64_t epoch, bool best) {
    EpochEvent event;
    event.epoch = event.step = epoch;
    event.best = best;
    add(event);
  }
};

std::vector<std::int64_t> steps_of(const RunLog& log) {
  std::vector<std::int64_t> all;
  for (const StepEvent& e : log.steps) all.push_back(e.step);
  return all;
}
std::vector<std::int64_t> epochs_of(const RunLog& log) {
  std::vector<std::int64_t> all;
  for (const EpochEvent& e : log.epochs) all.push_back(e.epoch);
  return all;
}

TEST(LogThinner, LeavesAShortRunAlone) {
  Written written({.step = 10, .probe = 0, .sample = 5});
  for (std::int64_t step = 1; step <= 5000; ++step) {
    if (step % 10 == 0) written.add_step(step);
    if (step % 777 == 0) written.add(ProbeEvent{step, {}});
    if (step % 5 == 0) written.add(SampleEvent{step, "text"});
    if (step % 50 == 0) written.add_epoch(step / 50, true);
  }
  EXPECT_EQ(written.log.steps.size(), 500U);
  EXPECT_EQ(written.log.probes.size(), 6U);
  EXPECT_EQ(written.log.samples.size(), 1000U);
  EXPECT_EQ(written.log.epochs.size(), 100U);
}

TEST(LogThinner, BoundsALongRun) {
  Written written({.step = 1, .probe = 7, .sample = 11});
  constexpr std::int64_t kSteps = 20'001;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    if (step % 7 == 0) written.add(ProbeEvent{step, {}});
    written.add_step(step);
    written.add_epoch(step, step <= 4097);
    if (step % 11 == 0) written.add(SampleEvent{step, "text"});
  }
  EndEvent end;
  end.reason = "finished";
  written.add(end);
  const RunLog& log = written.log;
  EXPECT_LE(log.steps.size(), 16'384U);
  EXPECT_LE(log.epochs.size(), 4'098U);
  EXPECT_GT(log.epochs.size(), 2'048U);
  EXPECT_LE(log.probes.size(), 513U);
  EXPECT_GT(log.probes.size(), 256U);
  EXPECT_LE(log.samples.size(), 1'025U);
  EXPECT_GT(log.samples.size(), 512U);
  EXPECT_TRUE(log.end);
  // The first step, then equal distances to the end.
  ASSERT_EQ(log.steps.size(), 10'001U);
  EXPECT_EQ(log.steps[0].step, 1);
  for (std::size_t i = 1; i < log.steps.size(); ++i)
    ASSERT_EQ(log.steps[i].step, 2 * static_cast<std::int64_t>(i));
  const std::vector<std::int64_t> epochs = epochs_of(log);
  EXPECT_TRUE(std::is_sorted(epochs.begin(), epochs.end()));
  EXPECT_EQ(std::count(epochs.begin(), epochs.end(), 4097), 1) << "the best";
  EXPECT_EQ(epochs.back(), kSteps) << "the last";
  // The file says the same.
  const RunLog read = parse_run_log(written.text, "log");
  EXPECT_EQ(steps_of(read), steps_of(log));
  EXPECT_EQ(epochs_of(read), epochs);
  EXPECT_EQ(read.probes.size(), log.probes.size());
  EXPECT_EQ(read.samples.size(), log.samples.size());
}

TEST(LogThinner, KeepsFewWhereEveryEpochIsTheBest) {
  Written written({});
  for (std::int64_t epoch = 1; epoch <= 20'001; ++epoch) written.add_epoch(epoch, true);
  EXPECT_EQ(written.log.epochs.size(), 20'001U / 8);
  // The last one, which was left out, is the best, too: it comes once.
  EXPECT_LT(written.log.epochs.back().epoch, 20'001);
  written.add(EndEvent{});
  const std::vector<std::int64_t> epochs = epochs_of(written.log);
  EXPECT_EQ(std::count(epochs.begin(), epochs.end(), 20'001), 1);
}

// Each of 16 digits, with quotes and a comma; a log of more than 2^28 bytes cannot be read.
TEST(LogThinner, BoundsTheHashesOfManyShards) {
  for (const std::int64_t shards : {2, 128, 1024, 65'536, 10'000'000}) {
    Written written({.step = 1, .hashes = shards});
    for (std::int64_t step = 1; step <= 20'000; ++step) written.add_step(step);
    const auto kept = static_cast<std::int64_t>(written.log.steps.size());
    EXPECT_GE(kept, 2) << shards;
    EXPECT_EQ(kept > 8'192, shards <= 128) << shards;
    if (shards <= 65'536) {
      EXPECT_LT(kept * shards * 19, std::int64_t{1} << 26) << shards;
    }
  }
}

// It is written before a checkpoint.
TEST(LogThinner, AKilledRunHasItsBestEpoch) {
  Written written({});
  for (std::int64_t epoch = 1; epoch <= 9'001; ++epoch) written.add_epoch(epoch, true);
  const std::optional<EpochEvent> best = written.thinner.take_best();
  ASSERT_TRUE(best);
  EXPECT_EQ(best->epoch, 9'001);
  written.log.add(*best);
  written.text += to_json_line(*best);
  EXPECT_FALSE(written.thinner.take_best());
  LogThinner again({});
  const RunLog resumed = parse_run_log(again.thin(written.text, "log"), "log");
  EXPECT_EQ(resumed.epochs.back().epoch, 9'001);
  written.add(EndEvent{});
  const std::vector<std::int64_t> epochs = epochs_of(written.log);
  EXPECT_EQ(std::count(epochs.begin(), epochs.end(), 9'001), 1);
}

// It is written before the last checkpoint; the log of a run that is made longer loses it.
TEST(LogThinner, AnEndedRunHasItsLastEpoch) {
  Written written({});
  for (std::int64_t epoch = 1; epoch <= 4'099; ++epoch) written.add_epoch(epoch, epoch == 1);
  const std::optional<EpochEvent> last = written.thinner.take_last();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->epoch, 4'099);
  written.log.add(*last);
  written.text += to_json_line(*last);
  EXPECT_FALSE(written.thinner.take_last());
  LogThinner again({});
  EXPECT_EQ(parse_run_log(again.thin(written.text, "log"), "log").epochs.back().epoch, 4'098);
  EXPECT_TRUE(again.take_last());
  written.thinner.thin(written.log);
  written.add(EndEvent{});
  const std::vector<std::int64_t> epochs = epochs_of(written.log);
  EXPECT_EQ(std::count(epochs.begin(), epochs.end(), 4'099), 1);
}

TEST(LogThinner, KeepsFewWhereACheckpointFollowsEveryBestEpoch) {
  Written written({});
  std::size_t most = 0;
  for (std::int64_t epoch = 1; epoch <= 30'001; ++epoch) {
    written.add_epoch(epoch, true);
    if (const auto best = written.thinner.take_best()) written.log.add(*best);
    most = std::max(most, written.log.epochs.size());
  }
  EXPECT_LE(most, 3 * 4'097U);
}

TEST(LogThinner, KeepsTheSameOfAResumedRun) {
  const auto add_steps = [](Written& written, std::int64_t first, std::int64_t last) {
    for (std::int64_t step = first; step <= last; ++step) written.add_step(step);
  };
  Written whole({.step = 1});
  add_steps(whole, 1, 40'000);
  Written before({.step = 1});
  add_steps(before, 1, 20'000);
  Written after({.step = 1});
  after.text = after.thinner.thin(log_until(before.text, 19'000, "log"), "log");
  after.log = parse_run_log(after.text, "log");
  add_steps(after, 19'001, 40'000);
  EXPECT_EQ(after.text, whole.text);
  EXPECT_EQ(steps_of(after.log), steps_of(whole.log));
}

}  // namespace
}  // namespace limpid::train
