#include "limpid/view/runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "limpid/core/error.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/train/config/config.h"
#include "limpid/train/run/checkpoint.h"
#include "limpid/view/api.h"
#include "limpid/view/forward.h"
#include "tests/refusals.h"
#include "tests/view/trained.h"

namespace limpid::view {
namespace {

using ViewRuns = Trained;

TEST_F(ViewRuns, TheLogComesOnceAndThenWhatIsNew) {
  const LogDelta all = session_->runs().log({.run = "r0"});
  EXPECT_TRUE(all.begun);
  EXPECT_EQ(all.epochs.size(), 4u);
  EXPECT_EQ(all.steps.size(), 28u);  // 200 rows in batches of 32, four times
  EXPECT_TRUE(all.end);
  EXPECT_EQ(all.state, RunState::kFinished);
  EXPECT_FALSE(all.reset);
  const LogDelta none = session_->runs().log({.run = "r0", .cursor = all.cursor});
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.cursor, all.cursor);
  // An incomplete line is not read yet.
  const std::string line = train::to_json_line(train::StepEvent{.step = 29, .loss = 0.5});
  std::ofstream file(folder_ / "moons/log.jsonl", std::ios::app);
  file << line.substr(0, 10) << std::flush;
  EXPECT_TRUE(session_->runs().log({.run = "r0", .cursor = all.cursor}).empty());
  file << line.substr(10) << std::flush;
  const LogDelta one = session_->runs().log({.run = "r0", .cursor = all.cursor});
  ASSERT_EQ(one.steps.size(), 1u);
  EXPECT_EQ(one.steps[0].step, 29);
  EXPECT_TRUE(session_->runs().log({.run = "r0", .cursor = one.cursor}).empty());
}

// Bytes that were read are not read again: others in their place, of the same size and time, are
// not seen.
TEST_F(ViewRuns, EachByteOfALogIsReadOnce) {
  const std::filesystem::path log = folder_ / "moons/log.jsonl";
  const LogDelta all = session_->runs().log({.run = "r0"});
  const auto step = [&] { return session_->runs().info("r0").at("step").as_integer(); };
  EXPECT_EQ(step(), 28);
  EXPECT_NO_THROW(session_->runs().at("r0", 28));
  const auto written = std::filesystem::last_write_time(log);
  const std::string other(std::filesystem::file_size(log) - 1, 'x');
  std::fstream(log, std::ios::in | std::ios::out) << other << "\n" << std::flush;
  std::filesystem::last_write_time(log, written);
  EXPECT_EQ(session_->runs().state("r0"), RunState::kFinished);
  EXPECT_EQ(step(), 28);
  // Of a log that has grown the new lines are read.
  std::ofstream more(log, std::ios::app);
  more << R"({"event":"resume","step":28,"command":["limpid"]})"
       << "\n"
       << std::flush;
  EXPECT_EQ(session_->runs().state("r0"), RunState::kElsewhere);
  EXPECT_EQ(step(), 28);
  more << train::to_json_line(train::StepEvent{.step = 29, .loss = 0.5}) << std::flush;
  EXPECT_EQ(step(), 29);
  const LogDelta delta = session_->runs().log({.run = "r0", .cursor = all.cursor});
  EXPECT_FALSE(delta.reset);
  EXPECT_EQ(delta.steps.size(), 1u);
  EXPECT_EQ(session_->runs().info("r0").at("task").as_string(), "classification");
  // Another file in its place is read from its beginning.
  std::filesystem::rename(log, folder_ / "old.jsonl");
  std::ofstream(log) << train::to_json_line(train::StepEvent{.step = 3, .loss = 0.5});
  EXPECT_EQ(step(), 3);
}

// A list of many runs is there at once: the numbers of their models are not read for it.
TEST_F(ViewRuns, AModelIsHashedWhereItsHashIsShown) {
  const std::string version = asked("session").at("models").at(0).at("version").as_string();
  const auto model = session_->model("r0");
  EXPECT_EQ(model->version, version);
  forward(*session_, {.subject = {.model = "r0", .input = InputSpec{InputSpec::Numbers{{1, 2}}}}});
  EXPECT_FALSE(model->kept_hash->known);
  EXPECT_EQ(model->hash(), hash_of_model(model->model));
  EXPECT_TRUE(model->kept_hash->known);
  EXPECT_EQ(session_->model("r0"), model);
}

TEST_F(ViewRuns, StepsOfAnyKindAreRead) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const LogDelta all = session_->runs().log({.run = "r0"});
  std::ofstream file(folder_ / "moons/log.jsonl", std::ios::app);
  file << train::to_json_line(train::StepEvent{29, 5, 1e-300, 0.1, 3})
       << train::to_json_line(train::StepEvent{30, 5, kNan, 0.1, -0.0})
       << "{\"event\": \"step\", \"step\": 31, \"epoch\": 5, \"loss\": 2, \"learning_rate\": 1, "
          "\"gradient_norm\": 4}\n"
       << "{\"event\":\"step\",\"step\":32,\"epoch\":5}\n{\"event\":\"step\"\n\n";
  file.close();
  const LogDelta more = session_->runs().log({.run = "r0", .cursor = all.cursor});
  ASSERT_EQ(more.steps.size(), 3u);
  EXPECT_EQ(more.steps[0].loss, 1e-300);
  EXPECT_EQ(more.steps[0].gradient_norm, 3);
  EXPECT_TRUE(std::isnan(more.steps[1].loss));
  EXPECT_EQ(more.steps[2].step, 31);
  EXPECT_EQ(more.steps[2].gradient_norm, 4);
}

TEST_F(ViewRuns, OddLinesAreReadOrPassedOver) {
  const LogDelta all = session_->runs().log({.run = "r0"});
  const auto line = [](std::int64_t step) {
    return train::to_json_line(train::StepEvent{.step = step, .epoch = 5, .loss = 0.5});
  };
  std::ofstream file(folder_ / "moons/log.jsonl", std::ios::app);
  // Truncated when a process ended, and continued by the next one.
  file << line(29).substr(0, 40) << line(30);
  file << R"({"event":"epoch","epoch":5,"st)" << line(31) << "\n";
  file << line(34).substr(0, line(34).size() - 1) << line(35);
  // Ends of lines as another system has them, keys in another order, keys of another version.
  file << line(32).substr(0, line(32).size() - 1) << "\r\n";
  file << R"({"step":33,"loss":1,"event":"step","epoch":5,"learning_rate":1,"gradient_norm":1})"
       << "\n{\"event\": \"epoch\", \"epoch\": 6}\n{\"event\":\"colour\",\"step\":1}\n"
       << "{\"event\":\"\n[1]\n\"event\"\n{\"event\":7}\n\n";
  // Lines longer than the pieces in which a file is read, and one that ends with a piece.
  for (const std::size_t length : {std::size_t{3} << 20, (std::size_t{1} << 20) - 1})
    file << std::string(length, 'x') << "\n" << line(static_cast<std::int64_t>(length));
  file.close();
  const LogDelta more = session_->runs().log({.run = "r0", .cursor = all.cursor});
  std::vector<std::int64_t> steps;
  for (const train::StepEvent& s : more.steps) steps.push_back(s.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{32, 33, 3 << 20, (1 << 20) - 1}));
  ASSERT_EQ(more.epochs.size(), 1u);
  EXPECT_EQ(more.epochs[0].at("epoch").as_integer(), 6);
  EXPECT_TRUE(session_->runs().log({.run = "r0", .cursor = more.cursor}).empty());
}

TEST_F(ViewRuns, KnowsTheStepsDoneWhateverTheLastLineIs) {
  const auto told = [&] { return session_->runs().info("r0").at("step").as_integer(); };
  const train::RunLog log = train::parse_run_log(train::log_path(folder_ / "moons"));
  EXPECT_EQ(told(), log.steps_done());
  std::ofstream file(folder_ / "moons/log.jsonl", std::ios::app);
  file << train::to_json_line(train::ResumeEvent{40}) << std::flush;
  EXPECT_EQ(told(), 40);
  // A probe belongs to the next step.
  file << train::to_json_line(train::ProbeEvent{42, {}}) << std::flush;
  EXPECT_EQ(told(), 43);
  train::EndEvent end;
  end.step = 45;
  file << train::to_json_line(end) << std::flush;
  EXPECT_EQ(told(), 45);
  // A process ended in the middle of a line, and another one resumed the run.
  file << "{\"event\":\"step\",\"st\n" << std::flush;
  EXPECT_EQ(told(), 45);
}

TEST_F(ViewRuns, WhatIsResumedHasNotEnded) {
  const LogDelta ended = session_->runs().log({.run = "r0"});
  EXPECT_TRUE(ended.end);
  std::ofstream file(folder_ / "moons/log.jsonl", std::ios::app);
  file << train::to_json_line(train::ResumeEvent{28}) << std::flush;
  EXPECT_FALSE(session_->runs().log({.run = "r0"}).end);
}

TEST_F(ViewRuns, OfALongLogSomeLinesComeAtFirst) {
  const LogDelta all = session_->runs().log({.run = "r0"});
  std::ofstream file(folder_ / "moons/log.jsonl", std::ios::app);
  for (int i = 5; i <= 1000; ++i)
    file << "{\"event\":\"epoch\",\"epoch\":" << i << "}\n{\"event\":\"probe\",\"step\":" << i
         << ",\"layers\":[]}\n{\"event\":\"sample\",\"step\":" << i << ",\"text\":\"\"}\n";
  file.close();
  const LogDelta some = session_->runs().log({.run = "r0", .most = 80});
  EXPECT_EQ(some.epochs.size(), 80u);
  EXPECT_EQ(some.epochs.front().at("epoch").as_integer(), 1);
  EXPECT_EQ(some.epochs.back().at("epoch").as_integer(), 1000);
  EXPECT_EQ(some.probes.size(), 10u);
  EXPECT_EQ(some.samples.size(), 10u);
  EXPECT_EQ(some.samples.back().at("step").as_integer(), 1000);
  const LogDelta later = session_->runs().log({.run = "r0", .cursor = all.cursor, .most = 80});
  EXPECT_EQ(later.cursor, some.cursor);
  EXPECT_EQ(later.epochs.size(), 996u);
  EXPECT_EQ(later.samples.size(), 996u);
}

TEST_F(ViewRuns, ThePageGetsEachNumberOfAStepUnderItsName) {
  const LogDelta all = session_->runs().log({.run = "r0"});
  const Json document = to_json(all);
  const Json& columns = document.at("steps");
  ASSERT_EQ(columns.at("step").size(), all.steps.size());
  for (std::size_t i = 0; i < all.steps.size(); ++i) {
    EXPECT_EQ(columns.at("step").at(i).as_integer(), all.steps[i].step);
    EXPECT_EQ(columns.at("epoch").at(i).as_integer(), all.steps[i].epoch);
    EXPECT_EQ(columns.at("loss").at(i).as_number(), all.steps[i].loss);
    EXPECT_EQ(columns.at("learning_rate").at(i).as_number(), all.steps[i].learning_rate);
    EXPECT_EQ(columns.at("gradient_norm").at(i).as_number(), all.steps[i].gradient_norm);
  }
}

TEST_F(ViewRuns, ALogSaysWhetherAllItsStepsAreThere) {
  const LogDelta all = session_->runs().log({.run = "r0"});
  EXPECT_FALSE(all.thinned);
  EXPECT_EQ(all.total_steps, 28);
  const LogDelta some = session_->runs().log({.run = "r0", .most = 8});
  EXPECT_TRUE(some.thinned);
  EXPECT_EQ(some.total_steps, 28);
  EXPECT_LE(some.steps.size(), 8u);
}

TEST_F(ViewRuns, ALogThatBeganAnewIsSentAnew) {
  const LogDelta all = session_->runs().log({.run = "r0"});
  train::TrainConfig config = moons_config();
  config.epochs = 1;
  train::Run(config, {.folder = folder_ / "moons", .overwrite = true}).train();
  const LogDelta again = session_->runs().log({.run = "r0", .cursor = all.cursor});
  EXPECT_TRUE(again.reset);
  EXPECT_EQ(again.epochs.size(), 1u);
  // A cursor beyond the log.
  for (const std::int64_t beyond : {again.cursor + 1, std::numeric_limits<std::int64_t>::max()})
    EXPECT_TRUE(session_->runs().log({.run = "r0", .cursor = beyond}).reset);
  EXPECT_FALSE(session_->runs().log({.run = "r0", .cursor = again.cursor}).reset);
}

TEST_F(ViewRuns, ARunWithoutALogIsListed) {
  Runs& runs = session_->runs();
  EXPECT_EQ(runs.info("r0").at("task").as_string(), "classification");
  std::filesystem::remove(folder_ / "moons/log.jsonl");
  EXPECT_EQ(runs.state("r0"), RunState::kElsewhere);
  EXPECT_EQ(runs.info("r0").at("step").as_integer(), 0);
  EXPECT_EQ(runs.info("r0").at("task").as_string(), "");
  EXPECT_TRUE(runs.log({.run = "r0"}).empty());
  std::ofstream(folder_ / "moons/log.jsonl").close();
  EXPECT_EQ(runs.state("r0"), RunState::kElsewhere);
  EXPECT_EQ(runs.info("r0").at("step").as_integer(), 0);
  EXPECT_THROW(runs.add(folder_), Error);
}

TEST_F(ViewRuns, ThinnedStepsKeepTheExtremes) {
  std::vector<train::StepEvent> steps;
  for (int i = 0; i < 100'000; ++i)
    steps.push_back({.step = i + 1,
                     // The last step is no extreme of those before it.
                     .loss = std::sin(0.001 * std::min(i, 99'000)) + (i == 31'415 ? 100 : 0)});
  const auto kept = thinned(steps, 2000);
  EXPECT_LE(kept.size(), 2000u);
  EXPECT_GT(kept.size(), 900u);
  EXPECT_EQ(kept.front().step, 1);
  EXPECT_EQ(kept.back().step, 100'000);
  EXPECT_TRUE(
      std::any_of(kept.begin(), kept.end(), [](const auto& s) { return s.step == 31'416; }));
  for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_LT(kept[i - 1].step, kept[i].step);
}

TEST(ViewSteps, AsManyStepsAsAreAskedForAreAllThere) {
  EXPECT_EQ(thinned(std::vector<train::StepEvent>(100), 100).size(), 100u);
}

// One step of a run that diverged and went on.
TEST(ViewSteps, ThinnedStepsKeepANanAndWhatIsBesideIt) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  // The first of its bucket, and one within.
  for (const std::size_t at : {std::size_t{400}, std::size_t{411}}) {
    std::vector<train::StepEvent> steps(1000);
    for (std::size_t i = 0; i < steps.size(); ++i)
      steps[i] = {.step = static_cast<std::int64_t>(i), .loss = 1};
    steps[at].loss = kNan;
    steps[415].loss = 0.5;
    const auto kept = thinned(steps, 40);
    const auto has = [&](std::int64_t step) {
      return std::any_of(kept.begin(), kept.end(), [&](const auto& s) { return s.step == step; });
    };
    EXPECT_TRUE(has(static_cast<std::int64_t>(at)));
    EXPECT_TRUE(has(415)) << at;
  }
}

TEST_F(ViewRuns, EveryStepIsThatOfARunOfItsLength) {
  for (const std::int64_t step : {28, 0, 13, 5, 14}) {
    const StepAgain again = session_->runs().at("r0", step);
    EXPECT_EQ(again.model->id, "r0@" + std::to_string(step));
    // The same training up to there, with the schedule of the whole run.
    train::Run run(moons_config());
    run.start();
    for (std::int64_t i = 0; i < step; ++i) run.step();
    EXPECT_EQ(again.model->hash(), hash_of_model(run.model())) << step;
    EXPECT_EQ(session_->model(again.model->id)->hash(), again.model->hash());
  }
  const StepAgain last = session_->runs().at("r0", 28);
  EXPECT_EQ(last.model->hash(), session_->model("r0")->hash());
  EXPECT_EQ(last.verified, true);
  EXPECT_LE(session_->runs().at("r0", 14).from, 14);
  const std::vector<train::StepEvent> logged = session_->runs().log({.run = "r0"}).steps;
  EXPECT_EQ(session_->runs().at("r0", 17).loss, logged[16].loss);
}

// The state of a step has the weights and the running statistics of batch norms.
TEST_F(ViewRuns, AStepHasWhatTheModelCarries) {
  train::TrainConfig config = moons_config();
  config.norm = "batch";
  const std::string id = add("norm", config);
  const train::StepEvent last = session_->runs().log({.run = id}).steps.back();
  EXPECT_EQ(session_->runs().at(id, last.step).model->hash(), session_->model(id)->hash());
  const Json few = asked("run/log", R"({"run": ")" + id + R"(", "most": 4})");
  EXPECT_LE(few.at("steps").at("step").size(), 4u);
}

TEST_F(ViewRuns, StepsBeyondTheEndOrTheLimitAreRefused) {
  train::TrainConfig wild = moons_config();
  wild.data = "sine:1,count=100";
  wild.optimizer = "sgd";
  wild.rate = 1e30;
  wild.epochs = 50;
  EXPECT_THROW(train::Run(wild, {.folder = folder_ / "wild"}).train(), Error);
  const std::string id = session_->runs().add(folder_ / "wild");
  expect_refused(ErrorCode::kInvalidArgument, [&] { session_->runs().at(id, 100); });
  Session few({.paths = {(folder_ / "moons").string()}, .limits = {.steps = 10}});
  EXPECT_EQ(few.runs().at("r0", 10).step, 10);
  EXPECT_THROW(few.runs().at("r0", 11), Error);
}

TEST_F(ViewRuns, AStepThatDiffersFromItsCheckpointIsSaidTo) {
  const std::filesystem::path path = folder_ / "moons/checkpoint.safetensors";
  train::Checkpoint checkpoint = train::load_checkpoint(path);
  ASSERT_EQ(checkpoint.state.step, 28);
  const std::string name = checkpoint.state.params.names().front();
  const Tensor was = checkpoint.state.params.at(name);
  checkpoint.state.params.set(name,
                              Tensor::generate_bytes(was.type(), [&](std::span<std::byte> out) {
                                std::copy(was.bytes().begin(), was.bytes().end(), out.begin());
                                out[0] ^= std::byte{1};
                              }));
  train::save_checkpoint(path, checkpoint);
  EXPECT_EQ(session_->runs().at("r0", 28).verified, false);
  EXPECT_EQ(session_->runs().at("r0", 27).verified, std::nullopt);
}

TEST_F(ViewRuns, ACheckpointOfAnotherRunIsNone) {
  Runs& runs = session_->runs();
  const auto take_checkpoint_of = [&](const train::TrainConfig& config) {
    train::Run(config, {.folder = folder_ / "other", .overwrite = true}).train();
    std::filesystem::copy_file(folder_ / "other/checkpoint.safetensors",
                               folder_ / "moons/checkpoint.safetensors",
                               std::filesystem::copy_options::overwrite_existing);
  };
  train::TrainConfig half = moons_config();
  half.epochs = 2;
  train::TrainConfig other = half;
  other.seed = 9;
  take_checkpoint_of(other);
  EXPECT_EQ(runs.at("r0", 20).from, 0);
  EXPECT_EQ(runs.at("r0", 14).verified, std::nullopt);
  other = half;
  other.data = "moons:4,count=200";
  take_checkpoint_of(other);
  EXPECT_EQ(runs.at("r0", 14).verified, std::nullopt);
  EXPECT_EQ(runs.at("r0", 28).model->hash(), session_->model("r0")->hash());
  // That of the run before it became longer is its own.
  take_checkpoint_of(half);
  EXPECT_TRUE(runs.at("r0", 14).verified.has_value());
}

TEST_F(ViewRuns, WithoutAReadableCheckpointItIsComputedFromTheStart) {
  std::ofstream(folder_ / "moons/checkpoint.safetensors") << "damaged";
  const StepAgain last = session_->runs().at("r0", 28);
  EXPECT_EQ(last.from, 0);
  EXPECT_EQ(last.verified, std::nullopt);
  EXPECT_EQ(last.model->hash(), session_->model("r0")->hash());
}

// By another process, while the page is open.
TEST_F(ViewRuns, ARunStartedAnewHasItsOwnStepsAndData) {
  Runs& runs = session_->runs();
  runs.at("r0", 28);
  EXPECT_EQ(runs.info("r0").at("steps").as_integer(), 28);
  train::TrainConfig other = moons_config();
  other.data = "circles:5,count=300";
  other.hidden = {5};
  train::Run run(other, {.folder = folder_ / "moons", .overwrite = true});
  run.train();
  EXPECT_EQ(runs.data("r0"), other.data);
  EXPECT_EQ(session_->model("r0")->data, other.data);
  EXPECT_TRUE(runs.info("r0").at("steps").is_null());
  const StepAgain last = runs.at("r0", run.trainer().steps());
  EXPECT_EQ(last.model->hash(), hash_of_model(run.model()));
  EXPECT_EQ(last.model->data, other.data);
  EXPECT_EQ(last.verified, true);
}

TEST_F(ViewRuns, ARunStartedAnewHasItsOwnExamples) {
  train::TrainConfig config = moons_config();
  config.data = "csv:" + (folder_ / "table.csv").string() + ",target=y";
  std::string id;
  for (const int rows : {40, 60}) {
    std::ofstream file(folder_ / "table.csv");
    file << "x,y\n";
    for (int i = 0; i < rows; ++i) file << i << "," << 0.5 * i << "\n";
    file.close();
    train::Run run(config, {.folder = folder_ / "table", .overwrite = true});
    run.train();
    if (id.empty()) id = session_->runs().add(folder_ / "table");
    const auto model = session_->model(id);
    EXPECT_EQ(session_->examples(*model, *config.data, "train")->size(), run.data().train.size());
  }
}

void wait_until_it_ends(Runs& runs, const std::string& id) {
  while (runs.state(id) == RunState::kRunning)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST_F(ViewRuns, ALongerRunHasItsNewSteps) {
  Runs& runs = session_->runs();
  EXPECT_THROW(runs.at("r0", 40), Error);
  train::TrainConfig longer = moons_config();
  longer.epochs = 10;
  {
    train::Run run(longer, {.folder = folder_ / "moons", .command = {"limpid"}});
    run.resume();
    run.step();
    run.interrupt();
    // The checkpoint, as no earlier state is known.
    const StepAgain own = runs.at("r0", 29);
    EXPECT_EQ(own.from, 29);
    EXPECT_EQ(own.verified, std::nullopt);
    EXPECT_EQ(own.model->hash(), hash_of_model(run.model()));
  }
  EXPECT_EQ(runs.at("r0", 40).steps, 70);
  runs.act("r0", Runs::Action::kResume);
  wait_until_it_ends(runs, "r0");
  const StepAgain last = runs.at("r0", 70);
  EXPECT_EQ(last.model->hash(), session_->model("r0")->hash());
  EXPECT_EQ(last.verified, true);
  // More than are kept; the last one, which is asked for, is the closest to its neighbour.
  for (std::int64_t step = 29; step <= 70; ++step) EXPECT_EQ(runs.at("r0", step).step, step);
  EXPECT_EQ(runs.at("r0", 30).step, 30);
}

// Its configuration is another one than that which the page has read.
TEST_F(ViewRuns, ALongerRunThatTrainsHereKnowsItsLength) {
  Runs& runs = session_->runs();
  runs.info("r0");
  train::TrainConfig longer = moons_config();
  longer.epochs = 10'000'000;  // it does not end by itself
  resume("moons", longer);
  runs.act("r0", Runs::Action::kResume);
  EXPECT_EQ(runs.info("r0").at("steps").as_integer(), 70'000'000);
  runs.act("r0", Runs::Action::kStop);
  EXPECT_EQ(runs.state("r0"), RunState::kStopped);
}

// They had the learning rates of the old length.
TEST_F(ViewRuns, TheStepsBeforeARunBecameLongerAreRefused) {
  const auto refused = [&](Runs& runs, std::int64_t step) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { runs.at("r0", step); });
  };
  for (const char* schedule : {"cosine", "linear"}) {
    train::TrainConfig config = moons_config();
    config.schedule = schedule;
    train::Run(config, {.folder = folder_ / "moons", .overwrite = true}).train();
    config.epochs = 8;
    {
      train::Run run(config, {.folder = folder_ / "moons", .command = {"limpid"}});
      run.resume();
      // Here nothing was trained since, and the checkpoint is that of the shorter run.
      EXPECT_EQ(session_->runs().at("r0", 28).verified, std::nullopt);
      refused(session_->runs(), 27);
      run.train();
    }
    Session later({.paths = {(folder_ / "moons").string()}});
    for (const std::int64_t step : {0, 28, 55}) refused(later.runs(), step);
    for (int again = 0; again < 2; ++again) {
      const StepAgain last = later.runs().at("r0", 56);
      EXPECT_EQ(last.model->hash(), later.model("r0")->hash());
      EXPECT_EQ(last.from, 56);
      EXPECT_EQ(last.verified, std::nullopt);
    }
  }
}

TEST_F(ViewRuns, ARunThatWasResumedHasAllItsSteps) {
  const train::RunOptions options{.folder = folder_ / "moons", .overwrite = true, .command = {"a"}};
  {
    train::Run run(moons_config(), options);
    run.start();
    run.interrupt();
    EXPECT_EQ(session_->runs().at("r0", 0).verified, true);
  }
  {
    train::Run run(moons_config(), options);
    run.start();
    for (int i = 0; i < 10; ++i) run.step();
    run.interrupt();
  }
  train::Run run(moons_config(), options);
  run.resume();
  run.train();
  EXPECT_EQ(session_->runs().at("r0", 5).step, 5);
  EXPECT_EQ(session_->runs().at("r0", 28).verified, true);
}

TEST_F(ViewRuns, AConstantRateIsThatOfAnyLength) {
  train::TrainConfig config = moons_config();
  config.schedule = "constant";
  train::Run(config, {.folder = folder_ / "constant"}).train();
  config.epochs = 6;
  train::Run run(config, {.folder = folder_ / "constant", .command = {"limpid"}});
  run.resume();
  run.train();
  const std::string id = session_->runs().add(folder_ / "constant");
  EXPECT_EQ(session_->runs().at(id, 42).verified, true);
  EXPECT_EQ(session_->runs().at(id, 10).step, 10);
}

// A disk may be full.
TEST_F(ViewRuns, ARunThatFailedLeavesItsFolderToOthers) {
  Runs& runs = session_->runs();
  Json config = train::to_json(moons_config());
  config["epochs"] = 100'000'000;  // it does not end by itself
  config["checkpoint_every"] = 1;
  const std::string id = runs.start("failing", config);
  // No file takes the place of a folder.
  const std::filesystem::path checkpoint = folder_ / "runs/failing/checkpoint.safetensors";
  std::error_code ignored;
  while (!std::filesystem::create_directory(checkpoint, ignored))
    std::filesystem::remove(checkpoint, ignored);
  wait_until_it_ends(runs, id);
  EXPECT_FALSE(runs.info(id).at("error").is_null());
  train::Run again(moons_config(), {.folder = folder_ / "runs/failing", .overwrite = true});
  EXPECT_NO_THROW(again.train());
  // It can be resumed here, too.
  runs.act(id, Runs::Action::kResume);
  wait_until_it_ends(runs, id);
  EXPECT_EQ(runs.state(id), RunState::kFinished);
  EXPECT_TRUE(runs.info(id).at("error").is_null());
}

TEST_F(ViewRuns, PausedAndResumedItIsTheSameModel) {
  Runs& runs = session_->runs();
  Json config = train::to_json(moons_config());
  config["epochs"] = 2000;
  const std::string id = runs.start("again", config);
  EXPECT_EQ(id, "r1");
  EXPECT_THROW(runs.start("again", config), Error);
  while (runs.log({.run = id}).steps.empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  try {
    runs.act(id, Runs::Action::kPause);
  } catch (const Error&) {  // it had ended before
  }
  if (runs.state(id) == RunState::kPaused) runs.act(id, Runs::Action::kResume);
  wait_until_it_ends(runs, id);
  EXPECT_EQ(runs.state(id), RunState::kFinished);
  EXPECT_THROW(runs.act(id, Runs::Action::kStop), Error);
  train::TrainConfig alike = moons_config();
  alike.epochs = 2000;
  train::Run other(alike);
  other.train();
  EXPECT_EQ(session_->model(id)->hash(), hash_of_model(other.model()));
  // Another process resumes the run and stops it: it is stopped now, not paused.
  alike.epochs = 2001;
  resume("runs/again", alike);
  EXPECT_EQ(runs.state(id), RunState::kStopped);
}

TEST_F(ViewRuns, ARunThatTrainsEndsWithItsSession) {
  Json config = train::to_json(moons_config());
  config["epochs"] = 100'000'000;  // it does not end by itself
  const std::string id = session_->runs().start("endless", config);
  session_.reset();
  Session later({.paths = {(folder_ / "runs/endless").string()}});
  EXPECT_EQ(later.runs().state("r0"), RunState::kStopped);
}

TEST_F(ViewRuns, ItsModelIsTheOneInItsFolderNow) {
  const auto before = session_->model("r0");
  EXPECT_EQ(session_->model("r0"), before);
  train::TrainConfig other = moons_config();
  other.seed = 9;
  train::Run run(other, {.folder = folder_ / "moons", .overwrite = true});
  run.train();
  EXPECT_EQ(session_->model("r0")->hash(), hash_of_model(run.model()));
  EXPECT_NE(session_->model("r0")->hash(), before->hash());
}

TEST_F(ViewRuns, FewStepsStayOpen) {
  for (std::int64_t step = 0; step < 20; ++step) session_->runs().at("r0", step);
  std::vector<std::string> open;
  for (const auto& model : session_->models())
    if (model->origin == Origin::kStep) open.push_back(model->id);
  ASSERT_EQ(open.size(), 16u);
  EXPECT_EQ(open.front(), "r0@4");
  EXPECT_EQ(open.back(), "r0@19");
}

TEST_F(ViewRuns, OnlyWhatFitsTheStateIsDone) {
  Runs& runs = session_->runs();
  Json config = train::to_json(moons_config());
  config["epochs"] = 100'000'000;  // it does not end by itself
  const std::string id = runs.start("endless", config);
  EXPECT_THROW(runs.act(id, Runs::Action::kResume), Error);
  runs.act(id, Runs::Action::kPause);
  EXPECT_EQ(runs.state(id), RunState::kPaused);
  EXPECT_THROW(runs.act(id, Runs::Action::kPause), Error);
  runs.act(id, Runs::Action::kStop);
  EXPECT_EQ(runs.state(id), RunState::kStopped);
}

TEST_F(ViewRuns, AFolderHasAName) {
  Runs& runs = session_->runs();
  for (const std::string end : {"/", "//", "/.", "/x/.."}) {
    const std::string id = runs.add((folder_ / "moons").string() + end);
    EXPECT_EQ(runs.info(id).at("name").as_string(), "moons") << end;
  }
}

TEST_F(ViewRuns, WhatCannotBeResumedSaysWhy) {
  Runs& runs = session_->runs();
  const auto refused = [&](ErrorCode code, const std::string& id) {
    expect_refused(code, [&] { runs.act(id, Runs::Action::kResume); });
    EXPECT_NE(runs.state(id), RunState::kRunning);
  };
  // The checkpoint of other data.
  train::TrainConfig other = moons_config();
  other.data = "moons:4,count=200";
  train::Run(other, {.folder = folder_ / "other"}).train();
  std::filesystem::copy_file(folder_ / "other/config.json", folder_ / "moons/config.json",
                             std::filesystem::copy_options::overwrite_existing);
  refused(ErrorCode::kInvalidArgument, "r0");
  // A run that another Run trains.
  const std::string id = runs.add(folder_ / "other");
  train::Run trains(other, {.folder = folder_ / "other", .overwrite = true});
  trains.start();
  refused(ErrorCode::kIo, id);
}

TEST_F(ViewRuns, ANameIsOfLettersAndDigits) {
  Json config = train::to_json(moons_config());
  config["epochs"] = 1;
  for (const std::string& wrong :
       {std::string(), std::string("a b"), std::string("a.b"), std::string("a/b"),
        std::string("\xc3\xa4"), std::string(65, 'a'), std::string("a{"), std::string("[")})
    EXPECT_THROW(session_->runs().start(wrong, config), Error) << wrong;
  for (const std::string& name : {std::string("Az-_09"), std::string(64, 'a')}) {
    const std::string id = session_->runs().start(name, config);
    wait_until_it_ends(session_->runs(), id);
    EXPECT_EQ(session_->runs().info(id).at("name").as_string(), name);
  }
}

// A page that may train reads no folder that nobody named, and replaces no run.
TEST_F(ViewRuns, FoldersOfOthersAreRefused) {
  Json config = train::to_json(moons_config());
  std::filesystem::create_directories(folder_ / "runs/taken");
  expect_refused(ErrorCode::kInvalidArgument, [&] { session_->runs().start("taken", config); });
  config["tokenizer"] = "bpe:/etc";
  expect_refused(ErrorCode::kInvalidArgument, [&] { session_->runs().start("a", config); });
  Session closed({.paths = {(folder_ / "moons").string()}});
  EXPECT_THROW(closed.runs().start("a", Json::object()), Error);
}

// A form is made of them.
TEST_F(ViewRuns, KeysOfAConfigurationHaveTheirKinds) {
  const Json keys = asked("run/keys").at("keys");
  const auto of = [&](const std::string& path) {
    for (const Json& key : keys.elements())
      if (key.at("path").as_string() == path) return key;
    return Json();
  };
  for (const auto& [path, kind] : {std::pair("data", "text"),
                                   {"epochs", "integer"},
                                   {"optimizer.lr", "number"},
                                   {"optimizer.amsgrad", "switch"},
                                   {"model.hidden", "integers"}})
    EXPECT_EQ(of(path).at("kind").as_string(), kind) << path;
  for (const train::ConfigKey& key : train::config_keys()) {
    const Json said = of(key.path);
    EXPECT_EQ(said.at("flag").as_string(), key.flag);
    EXPECT_EQ(said.at("help").as_string(), key.help);
    EXPECT_EQ(said.at("otherwise").as_string(), key.otherwise);
    EXPECT_EQ(said.at("choices").is_null(), key.choices == nullptr);
  }
}

TEST(ViewConfigs, DiffHasWhatDiffers) {
  const auto rows = config_diff({Json::parse(R"({"a": 1, "b": {"c": 2, "d": [1]}})"),
                                 Json::parse(R"({"a": 1, "b": {"c": 3}})")});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, "b.c");
  EXPECT_EQ(rows[0].values[1].as_integer(), 3);
  EXPECT_EQ(rows[1].key, "b.d");
  EXPECT_TRUE(rows[1].values[1].is_null());
}

}  // namespace
}  // namespace limpid::view
